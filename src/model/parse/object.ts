import type { Parsed, Problem } from '../../lib/errors.ts';
import { suggestion } from '../../lib/nearest.ts';
import { findKind, type Kinds } from '../kinds.ts';
import type { KubeObject, ResourceKind } from '../object.ts';
import { checkDnsLabel, checkDnsSubdomain } from './dns.ts';
import { joinPath } from './path.ts';

/** An object and the kind that it is of. */
export interface KindedObject {
  readonly kind: ResourceKind;
  /** Namespaced objects have their namespace. */
  readonly object: KubeObject;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value is a mapping. */
export function isMapping(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What objects without a namespace of their own belong to. */
export const DEFAULT_NAMESPACE = 'default';

/**
 * Checks what all kinds have in common (https://kubernetes.io/docs/concepts/overview/working-with-objects): apiVersion, kind and
 * metadata. A namespaced object that names no namespace gets the given one.
 */
export function parseObject(value: unknown, kinds: Kinds, defaultNamespace: string = DEFAULT_NAMESPACE): Parsed<KindedObject> {
  if (!isMapping(value))
    return failed([{ path: '', message: 'a manifest must be a mapping with apiVersion, kind and metadata' }]);
  const kind = parseKind(value, kinds);
  const metadata = value.metadata;
  const problems = [
    ...(kind.ok ? [] : kind.problems),
    ...(isMapping(metadata) ? checkMetadata(metadata, kind.ok ? kind.value : undefined) : [missingMetadata(metadata)]),
  ];
  if (!kind.ok || !isMapping(metadata) || problems.length > 0) return failed(problems);
  const object = value as KubeObject;
  if (!kind.value.namespaced || object.metadata.namespace !== undefined) return { ok: true, value: { kind: kind.value, object } };
  const withNamespace = { ...object, metadata: { ...object.metadata, namespace: defaultNamespace } };
  return { ok: true, value: { kind: kind.value, object: withNamespace } };
}

function failed(problems: readonly Problem[]): Parsed<never> {
  return { ok: false, problems };
}

/** Finds the kind of a manifest; an unknown one is answered with the nearest known. */
export function parseKind(fields: Fields, kinds: Kinds): Parsed<ResourceKind> {
  const { apiVersion, kind } = fields;
  const problems: Problem[] = [];
  if (typeof apiVersion !== 'string' || apiVersion === '')
    problems.push({ path: 'apiVersion', message: 'required: a text such as v1' });
  if (typeof kind !== 'string' || kind === '') problems.push({ path: 'kind', message: 'required: a text such as Service' });
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || problems.length > 0) return failed(problems);
  const found = findKind(kinds, apiVersion, kind);
  if (found !== undefined) return { ok: true, value: found };
  const known = Object.values<ResourceKind>({ ...kinds });
  const sameKind = known.find((other) => other.kind === kind);
  if (sameKind !== undefined) {
    return failed([{ path: 'apiVersion', message: `"${apiVersion}" has no kind ${kind} here; write "${sameKind.apiVersion}"` }]);
  }
  const names = known.map((other) => other.kind);
  return failed([{ path: 'kind', message: `unknown kind "${kind}" of ${apiVersion}${suggestion(kind, names)}` }]);
}

function missingMetadata(metadata: unknown): Problem {
  return { path: 'metadata', message: metadata === undefined ? 'required: a mapping with name' : 'must be a mapping with name' };
}

function checkMetadata(metadata: Fields, kind: ResourceKind | undefined): readonly Problem[] {
  const problems: Problem[] = [];
  const report = (path: string, message: string | undefined): void => {
    if (message !== undefined) problems.push({ path, message });
  };
  const { name, namespace } = metadata;
  if (typeof name !== 'string' || name === '') report('metadata.name', 'required: the name of the object');
  else report('metadata.name', checkName(name, kind));
  if (namespace !== undefined) {
    if (typeof namespace !== 'string') report('metadata.namespace', 'must be a text');
    else if (kind?.namespaced === false) report('metadata.namespace', `a ${kind.kind} belongs to no namespace; remove this line`);
    else report('metadata.namespace', checkDnsLabel(namespace));
  }
  problems.push(
    ...checkStrings(metadata.labels, 'metadata.labels'),
    ...checkStrings(metadata.annotations, 'metadata.annotations'),
  );
  for (const field of ['uid', 'resourceVersion', 'creationTimestamp'] as const) {
    const value = metadata[field];
    if (value !== undefined && value !== null && typeof value !== 'string') report(`metadata.${field}`, 'must be a text');
  }
  return problems;
}

function checkName(name: string, kind: ResourceKind | undefined): string | undefined {
  if (kind?.kind === 'Namespace' || kind?.kind === 'Service') return checkDnsLabel(name);
  return checkDnsSubdomain(name);
}

function checkStrings(value: unknown, path: string): readonly Problem[] {
  if (value === undefined || value === null) return [];
  if (!isMapping(value)) return [{ path, message: 'must be a mapping of texts' }];
  return Object.entries(value)
    .filter(([, text]) => typeof text !== 'string')
    .map(([key, text]) => ({ path: joinPath(path, key), message: mustBeText(text) }));
}

function mustBeText(value: unknown): string {
  return typeof value === 'object' ? 'must be a text' : `must be a text: write "${String(value)}" with its quotes`;
}

/** The objects that a document holds: the items of a List, or the document itself. A null (empty) document holds none. */
export function expandList(
  value: unknown,
): readonly { readonly value: unknown; readonly path: string; readonly index: number | undefined }[] {
  if (value === null || value === undefined) return [];
  const isList = isMapping(value) && typeof value.kind === 'string' && value.kind.endsWith('List') && Array.isArray(value.items);
  if (!isList) return [{ value, path: '', index: undefined }];
  return (value.items as readonly unknown[]).map((item, index) => ({ value: item, path: joinPath('items', index), index }));
}

/** A problem of an item, seen from the document around it. */
export function nestProblem(problem: Problem, base: string): Problem {
  if (base === '') return problem;
  const separator = problem.path === '' || problem.path.startsWith('[') ? '' : '.';
  return { ...problem, path: `${base}${separator}${problem.path}` };
}
