import type { Host } from '../../io/host.ts';
import { openKubeconfig } from '../../io/kubernetes/open-client.ts';
import { MeshError } from '../../lib/errors.ts';
import type { ClusterMembership } from '../run-state.ts';
import { NodeApi } from './node-api.ts';

/**
 * Takes a node and its pods out of its cluster, whose controllers make new pods for another node. A cluster that is not there
 * any more is told of, and keeps nobody from ending the node.
 */
export async function leaveCluster(
  { kubeconfig, node }: ClusterMembership,
  { env, now }: Host,
  progress: (line: string) => void,
): Promise<void> {
  try {
    const client = openKubeconfig(kubeconfig, { flag: '--orchconfig', env, now });
    try {
      const api = new NodeApi(client);
      await api.removeNode(node);
      await Promise.all((await api.podsOf(node)).map((pod) => api.removePod(pod)));
    } finally {
      client.close();
    }
  } catch (error) {
    progress(`node ${node} is still written down in its cluster: ${MeshError.from(error).message}`);
  }
}
