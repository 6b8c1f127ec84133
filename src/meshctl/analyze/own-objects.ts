import { MeshError } from '../../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../../model/object.ts';
import type { ObjectStore } from '../../sources/store/object-store.ts';

/** Who may not read the whole cluster may still read a namespace. */
export async function ownObjects(store: ObjectStore, kind: ResourceKind, namespace: string): Promise<readonly KubeObject[]> {
  return store.list(kind, namespace).catch((thrown: unknown) => {
    if (MeshError.from(thrown).code === 'permission_denied') return [];
    throw thrown;
  });
}
