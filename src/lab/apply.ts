import { MeshError } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { describeObject, type KubeObject, type ObjectRef } from '../model/object.ts';
import type { KindedObject } from '../model/parse/object.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { isRecord } from './kubelet/fields.ts';

export type Applied = 'created' | 'configured' | 'unchanged';

/**
 * Creates an object or brings the stored one to it. What the lab itself has added is kept: the status, a service's address.
 * A pod cannot be changed, only replaced by a new one. Throws `not_found` when the object's namespace does not exist.
 */
export async function applyObject(store: ObjectStore, { kind, object }: KindedObject, names: Names): Promise<Applied> {
  const { namespace, name } = object.metadata;
  const ref: ObjectRef = kind.namespaced && namespace !== undefined ? { kind, namespace, name } : { kind, name };
  const wanted = kind.kind === 'Pod' ? withApplied(object, names) : object;
  const existing = await find(store, ref);
  if (existing === undefined) {
    await store.create(wanted);
    return 'created';
  }
  if (kind.kind === 'Pod') {
    const annotation = appliedAnnotation(names);
    if (existing.metadata.annotations?.[annotation] === wanted.metadata.annotations?.[annotation]) return 'unchanged';
    await store.delete(ref);
    await store.create(wanted);
    return 'configured';
  }
  const replaced = await store.replace(keepingOwn(wanted, existing));
  return replaced.metadata.resourceVersion === existing.metadata.resourceVersion ? 'unchanged' : 'configured';
}

/** Throws `not_found` for an object whose namespace neither exists nor comes with it. */
export async function requireNamespaces(
  store: ObjectStore,
  objects: readonly KindedObject[],
  namespaceKind: ObjectRef['kind'],
): Promise<void> {
  const known = new Set((await store.list(namespaceKind)).map(({ metadata }) => metadata.name));
  for (const { kind, object } of objects) if (kind.kind === 'Namespace') known.add(object.metadata.name);
  for (const { kind, object } of objects) {
    const { namespace } = object.metadata;
    if (!kind.namespaced || namespace === undefined || known.has(namespace)) continue;
    throw new MeshError(
      'not_found',
      `${describeObject(object)}: namespace "${namespace}" does not exist; apply a Namespace of that name too`,
    );
  }
}

async function find(store: ObjectStore, ref: ObjectRef): Promise<KubeObject | undefined> {
  try {
    return await store.get(ref);
  } catch (error) {
    if (error instanceof MeshError && error.code === 'not_found') return undefined;
    throw error;
  }
}

function keepingOwn(wanted: KubeObject, existing: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = wanted.metadata;
  const status = existing['status'];
  const object = { ...wanted, metadata, ...(status === undefined ? {} : { status }) };
  if (wanted.kind !== 'Service' || !isRecord(existing['spec']) || !isRecord(wanted['spec'])) return object;
  const { clusterIP, clusterIPs } = existing['spec'];
  return clusterIP === undefined ? object : { ...object, spec: { clusterIP, clusterIPs, ...wanted['spec'] } };
}

function appliedAnnotation(names: Names): string {
  return `lab.${names.domain}/last-applied`;
}

/** Notes what was applied, since the injection changes the pod itself. */
function withApplied(pod: KubeObject, names: Names): KubeObject {
  const annotations = { ...pod.metadata.annotations, [appliedAnnotation(names)]: JSON.stringify(pod) };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}
