/** What the API server sends, as objects of ours: checked, and without what nobody here reads. */
import { MeshError } from '../../../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../../../model/object.ts';

type Fields = Readonly<Record<string, unknown>>;

/** kubectl keeps a copy of the whole object here. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

export function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/**
 * One object as it was received. Items of lists come without apiVersion and kind. managedFields and kubectl's copy are dropped at
 * the door: together they are often larger than the rest.
 */
export function receiveObject(kind: ResourceKind, value: unknown): KubeObject {
  const { metadata, apiVersion: _, kind: __, ...rest } = asFields(value);
  const { managedFields: ___, annotations, ...kept } = asFields(metadata);
  const { name, namespace } = kept;
  const isNamed = typeof name === 'string' && (kind.namespaced ? typeof namespace === 'string' : namespace === undefined);
  if (!isNamed) throw new MeshError('invalid', `the API server sent something that is no ${kind.kind}`);
  const left = withoutLastApplied(annotations);
  const own = { ...kept, name, ...(left === undefined ? {} : { annotations: left }) };
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: own as KubeObject['metadata'], ...rest };
}

function withoutLastApplied(annotations: unknown): Fields | undefined {
  const { [LAST_APPLIED]: _, ...left } = asFields(annotations);
  return Object.keys(left).length === 0 ? undefined : left;
}

/** The version of a list or an object. */
export function resourceVersionOf(value: unknown): string | undefined {
  const { resourceVersion } = asFields(asFields(value).metadata);
  return typeof resourceVersion === 'string' && resourceVersion !== '' ? resourceVersion : undefined;
}
