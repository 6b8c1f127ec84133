import type { KubeObject } from '../../model/object.ts';
import { CATALOGUE, type FindingCode, type Severity } from './catalogue.ts';

/** What a finding is about. */
export interface Subject {
  readonly kind: string;
  /** Absent for kinds that are not namespaced. */
  readonly namespace?: string;
  readonly name: string;
}

/** Something in the mesh that does not work, or will not work as its author may think. */
export interface Finding {
  readonly code: FindingCode;
  readonly subject: Subject;
  /** JSON path of what is wrong in the object; absent: all of it. */
  readonly path?: string;
  /** What is wrong, where and with what consequence: lower case, no final period. */
  readonly message: string;
  /** What to do in this very case, where it is known better than the catalogue knows it. */
  readonly action?: string;
}

/** Where in a file an object stands. */
export interface Place {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
}

export function subjectOf({ kind, metadata: { name, namespace } }: Pick<KubeObject, 'kind' | 'metadata'>): Subject {
  return namespace === undefined ? { kind, name } : { kind, namespace, name };
}

/** `Policy foo/httpbin` */
export function describeSubject({ kind, namespace, name }: Subject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

export function severityOf({ code }: Pick<Finding, 'code'>): Severity {
  return CATALOGUE[code].severity;
}

/** What to do about a finding. */
export function actionOf({ code, action }: Pick<Finding, 'code' | 'action'>): string {
  return action ?? CATALOGUE[code].action;
}

const ORDER: readonly Severity[] = ['error', 'warning', 'info'];

/** The worst first, then by code, object and text; what several analysers say alike is said once. */
export function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  const byText = new Map(findings.map((finding) => [sortKey(finding), finding]));
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, finding]) => finding);
}

/** Equal for findings that say the same. */
export function sortKey(finding: Finding): string {
  const { code, subject, message } = finding;
  return [ORDER.indexOf(severityOf(finding)), code, describeSubject(subject), message].join('\u0000');
}
