import type { Problem } from '../lib/errors.ts';
import { isRecord, isStringMap, type Labels } from './shape.ts';

/**
 * A Kubernetes label selector: all its requirements must hold.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/
 */
export interface LabelSelector {
  readonly requirements: readonly Requirement[];
}

export type Requirement =
  | { readonly operator: 'In' | 'NotIn'; readonly key: string; readonly values: readonly string[] }
  | { readonly operator: 'Exists' | 'DoesNotExist'; readonly key: string };

/** Whether a pod with these labels is selected. As in Kubernetes, `NotIn` also selects pods that lack the label. */
export function selects(selector: LabelSelector, labels: Labels): boolean {
  return selector.requirements.every((requirement) => holds(requirement, labels));
}

function holds(requirement: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && requirement.values.includes(value);
    case 'NotIn':
      return value === undefined || !requirement.values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

/** Reads a selector; what is wrong with it goes into `problems`. One that selects every pod is refused: that is what `policy` is for. */
export function parseSelector(value: unknown, path: string, problems: Problem[]): LabelSelector {
  const problem = (at: string, message: string) => void problems.push({ path: at, message });
  const requirements: Requirement[] = [];
  if (!isRecord(value)) {
    problem(path, 'must be a label selector with matchLabels or matchExpressions');
    return { requirements };
  }
  for (const field of Object.keys(value)) {
    if (field !== 'matchLabels' && field !== 'matchExpressions')
      problem(`${path}.${field}`, 'unknown field; use matchLabels or matchExpressions');
  }
  const { matchLabels = {}, matchExpressions = [] } = value;
  if (isStringMap(matchLabels)) {
    for (const [key, text] of Object.entries(matchLabels)) requirements.push({ operator: 'In', key, values: [text] });
  } else problem(`${path}.matchLabels`, 'must map label names to texts');
  if (Array.isArray(matchExpressions)) {
    for (const [index, expression] of matchExpressions.entries()) {
      const requirement = parseExpression(expression);
      if (typeof requirement === 'string') problem(`${path}.matchExpressions[${index}]`, requirement);
      else requirements.push(requirement);
    }
  } else problem(`${path}.matchExpressions`, 'must be a list');
  if (Object.keys(matchLabels ?? {}).length === 0 && Array.isArray(matchExpressions) && matchExpressions.length === 0) {
    problem(path, 'selects every pod; say so with policy instead');
  }
  return { requirements };
}

function parseExpression(value: unknown): Requirement | string {
  if (!isRecord(value)) return 'must have key, operator and values';
  const { key, operator, values = [] } = value;
  if (typeof key !== 'string' || key === '') return 'key must be a label name';
  if (!Array.isArray(values) || !values.every((item) => typeof item === 'string')) return 'values must be a list of texts';
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length === 0 ? `values must not be empty for ${operator}` : { operator, key, values };
    case 'Exists':
    case 'DoesNotExist':
      return values.length > 0 ? `values must be absent for ${operator}` : { operator, key };
    default:
      return 'operator must be one of In, NotIn, Exists, DoesNotExist';
  }
}
