import type { Parsed, Problem } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { idOf } from './reference.ts';

/** A value, or what is wrong; paths begin at the object. */
export type Attempt<T> = { readonly value: T } | { readonly problems: readonly Problem[] };

export const attemptOf = <T>(parsed: Parsed<T>): Attempt<T> =>
  parsed.ok ? { value: parsed.value } : { problems: parsed.problems };

/** Problems of a part, as those of the whole. */
export const below = (path: string, problems: readonly Problem[]): readonly Problem[] =>
  problems.map((problem) => ({ ...problem, path: problem.path === '' ? path : `${path}.${problem.path}` }));

/** What the fields of something are that may be none. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** Empty for objects that are in none. */
export const namespaceOf = (object: KubeObject): string => object.metadata.namespace ?? '';
export const idOfObject = (object: KubeObject): string => idOf(object.metadata.name, object.kind, namespaceOf(object));
