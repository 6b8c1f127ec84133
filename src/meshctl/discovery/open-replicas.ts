import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Host } from '../../io/host.ts';
import { MeshError } from '../../lib/errors.ts';
import { kindsFor } from '../../model/kinds.ts';
import { withCluster } from '../install/cluster-client.ts';
import { labOf } from '../reach/lab.ts';
import { withStore } from '../session.ts';
import { replicaAt } from './by-address.ts';
import { replicasInCluster } from './by-api-server.ts';
import { replicaInLab } from './by-lab.ts';
import type { DiscoveryReplica } from './replica.ts';

export interface ReachOptions {
  readonly orchconfig: string;
  /** Those of --address. */
  readonly addresses: readonly string[];
  /** Of the control plane. */
  readonly namespace: string;
}

/**
 * Runs a command with the replicas of pilot-discovery: at the addresses given, else in the lab or in the cluster of `orchconfig`.
 * Throws MeshError `usage` when nothing says where they are, `not_found` when there are none.
 */
export async function withReplicas<T>(
  { orchconfig, addresses, namespace }: ReachOptions,
  host: Host,
  run: (replicas: readonly DiscoveryReplica[]) => Promise<T>,
): Promise<T> {
  if (addresses.length > 0) return run(addresses.map((address) => replicaAt(address, fetch, host.signal)));
  if (!isDirectory(orchconfig, host.cwd)) {
    return withCluster(orchconfig, host, async (client) => run(await replicasInCluster(client, namespace)));
  }
  const lab = labOf(orchconfig, host);
  if (lab === undefined) {
    const message = `${orchconfig} is a directory of manifests, and no lab runs on it: give the HTTP port of pilot-discovery by --address`;
    throw new MeshError('usage', message);
  }
  return withStore(orchconfig, host, async (store) => run([replicaInLab(lab, await store.list(kindsFor(host.names).pod), host)]));
}

export function isDirectory(orchconfig: string, cwd: string): boolean {
  if (orchconfig === '' || orchconfig.startsWith('k8s://')) return false;
  if (orchconfig.startsWith('fs://')) return true;
  return statSync(resolve(cwd, orchconfig), { throwIfNoEntry: false })?.isDirectory() === true;
}
