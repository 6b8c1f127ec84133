import type { Problem } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { KubeObject } from '../object.ts';
import { unknownField } from './schema-problems.ts';

/** What a policy parser needs to know of the names. */
export type AuthenticationNames = Pick<Names, 'authentication'>;

const FIELDS = ['apiVersion', 'kind', 'metadata', 'spec', 'status'];

/** Checks what is around the spec of a Policy or MeshPolicy. */
export function checkTopLevel(object: KubeObject, kind: 'Policy' | 'MeshPolicy', names: AuthenticationNames): readonly Problem[] {
  const problems: Problem[] = [];
  const { apiVersion } = names.authentication;
  if (object.apiVersion !== apiVersion)
    problems.push({ path: 'apiVersion', message: `must be ${apiVersion}, not ${object.apiVersion}` });
  if (object.kind !== kind) problems.push({ path: 'kind', message: `must be ${kind}, not ${object.kind}` });
  for (const field of Object.keys(object)) {
    if (!FIELDS.includes(field)) problems.push({ path: field, message: unknownField(field, FIELDS) });
  }
  return problems;
}
