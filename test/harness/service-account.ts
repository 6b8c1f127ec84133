/** A kubeconfig of a service account of the test cluster, with the rights of the account and no others. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestCluster } from './cluster.ts';

/** Writes the file into the cluster's directory; gives its path. */
export function accountKubeconfig(cluster: TestCluster, namespace: string, account: string): string {
  const token = cluster.kubectl(['create', 'token', account, '-n', namespace]).trim();
  const { clusters } = JSON.parse(readFileSync(cluster.kubeconfig, 'utf8')) as {
    readonly clusters: readonly { readonly cluster: object }[];
  };
  const [first] = clusters;
  if (first === undefined) throw new Error('the kubeconfig of the test cluster has no cluster');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: first.cluster }],
    users: [{ name: account, user: { token } }],
    contexts: [{ name: account, context: { cluster: 'test', user: account, namespace } }],
    'current-context': account,
  };
  const path = join(cluster.directory, `${account}.kubeconfig`);
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
