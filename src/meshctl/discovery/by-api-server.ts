/** Replicas in a cluster, asked through the API server: what works from wherever kubectl works, with the rights `get pods/proxy`. */
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { MeshError } from '../../lib/errors.ts';
import { isMapping } from '../../model/parse/object.ts';
import { field, items, text } from '../../proxy-dump/json-value.ts';
import type { DiscoveryReplica } from './replica.ts';

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
    const message = `no pod of namespace ${namespace} with the label ${SELECTOR} is ready; --discovery-namespace or --address tell where pilot-discovery is`;
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
    get: (path, query = {}) =>
      client.request({ method: 'GET', path: `${root}${path}`, query, what: `ask ${name}.${namespace} for ${path}` }),
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
