import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { MeshError } from '../../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../../model/object.ts';
import { type ListOptions, listObjects } from '../../sources/store/kubernetes/list-objects.ts';

/** The objects of a kind; none where the API server does not know it, as where its definition is not installed. */
export async function listServed(
  client: KubernetesClient,
  kind: ResourceKind,
  options: ListOptions,
): Promise<readonly KubeObject[]> {
  try {
    return (await listObjects(client, kind, options)).objects;
  } catch (error) {
    if (error instanceof MeshError && error.code === 'not_found') return [];
    throw error;
  }
}
