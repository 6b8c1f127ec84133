/** Replicas in a cluster, asked through the API server: what works from wherever kubectl works, with the rights `get pods/proxy`. */
import { ApiError } from '../../io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { MeshError } from '../../lib/errors.ts';
import { isMapping } from '../../model/parse/object.ts';
import { field, items, text } from '../../proxy-dump/json-value.ts';
import { type DiscoveryReplica, NEEDS_CERTIFICATE } from './replica.ts';

/** The label of the pods that `meshctl install` makes, and the name of their HTTP port. */
const SELECTOR = 'app=mesh-pilot';
const PORT_NAME = 'http';
const DEFAULT_PORT = '8080';

/** The replicas that are ready. Throws MeshError `not_found` when there is none, and what the API server refuses. */
export async function replicasInCluster(client: KubernetesClient, namespace: string): Promise<readonly DiscoveryReplica[]> {
  const pods = await client.request({
    method: 'GET',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
    query: { labelSelector: SELECTOR },
    what: `list the pods of pilot-discovery in namespace ${namespace}`,
  });
  const ready = items(field(pods, 'items')).filter(isReady);
  if (ready.length === 0) {
    const message = `no pod of namespace ${namespace} with the label ${SELECTOR} is ready; --meshNamespace or --address tell where pilot-discovery is`;
    throw new MeshError('not_found', message);
  }
  return ready.map((pod) => replicaOf(pod, namespace, client));
}

function replicaOf(pod: unknown, namespace: string, client: KubernetesClient): DiscoveryReplica {
  const name = text(field(pod, 'metadata', 'name'));
  const target = `http:${name}:${portOf(pod)}`;
  const root = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(target)}/proxy`;
  return {
    name,
    async get(path, query = {}) {
      const what = `ask ${name}.${namespace} for ${path}`;
      try {
        return await client.request({ method: 'GET', path: `${root}${path}`, query, what });
      } catch (thrown) {
        // The API server knows us, for it has listed the pods: these are the words of pilot-discovery.
        if (!(thrown instanceof ApiError) || thrown.status !== 401) throw thrown;
        const forward = `kubectl port-forward -n ${namespace} pod/${name} 8080:${portOf(pod)}`;
        throw new MeshError(
          'unauthenticated',
          `cannot ${what}: ${NEEDS_CERTIFICATE}: ${forward}, and --address 127.0.0.1:8080`,
          thrown,
        );
      }
    },
  };
}

function isReady(pod: unknown): boolean {
  if (!isMapping(pod) || field(pod, 'metadata', 'deletionTimestamp') !== undefined) return false;
  return items(field(pod, 'status', 'conditions')).some(
    (condition) => field(condition, 'type') === 'Ready' && field(condition, 'status') === 'True',
  );
}

function portOf(pod: unknown): string {
  const ports = items(field(pod, 'spec', 'containers')).flatMap((container) => items(field(container, 'ports')));
  return (
    text(
      field(
        ports.find((port) => field(port, 'name') === PORT_NAME),
        'containerPort',
      ),
    ) || DEFAULT_PORT
  );
}
