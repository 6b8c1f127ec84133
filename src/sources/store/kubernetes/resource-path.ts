/** Where the API serves a kind (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris). */
import { MeshError } from '../../../lib/errors.ts';
import { groupOf } from '../../../model/kinds.ts';
import { describeRef, type ObjectRef, type ResourceKind } from '../../../model/object.ts';

/** All objects of a kind, of one namespace if given (and the kind has them). */
export function collectionPath(kind: ResourceKind, namespace?: string): string {
  const root = kind.apiVersion.includes('/') ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`;
  const within = kind.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace, kind)}` : '';
  return `${root}${within}/${kind.plural}`;
}

/** One object. Throws `invalid` for a name that would lead elsewhere. */
export function objectPath(ref: ObjectRef): string {
  const { kind, namespace, name } = ref;
  if (kind.namespaced && (namespace ?? '') === '') throw new MeshError('invalid', `${describeRef(ref)} needs a namespace`);
  return `${collectionPath(kind, namespace)}/${segment(name, kind)}`;
}

/** `policies.authentication.mesh.io`, `services`: the kind as RBAC and kubectl write it. */
export function resourceName(kind: ResourceKind): string {
  const group = groupOf(kind);
  return group === '' ? kind.plural : `${kind.plural}.${group}`;
}

/** Dots alone are steps in a URL, whatever they are escaped as. */
function segment(text: string, kind: ResourceKind): string {
  if (text === '' || /^\.+$/.test(text)) throw new MeshError('invalid', `"${text}" cannot stand in a name of ${kind.plural}`);
  return encodeURIComponent(text);
}
