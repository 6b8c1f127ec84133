/** Runs components on a cluster as the service accounts that the printed manifests give them, with just their rights. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MeshError } from '../../src/lib/errors.ts';
import type { KubeObject } from '../../src/model/object.ts';
import type { TestCluster } from './cluster.ts';

const RIGHTS = new Set(['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']);

/** Applies the accounts and rights among some objects, and makes a kubeconfig with a token of an account. Gives its path. */
export function kubeconfigOf(
  cluster: TestCluster,
  objects: readonly KubeObject[],
  account: { readonly namespace: string; readonly name: string },
): string {
  const rights = objects.filter(({ kind }) => RIGHTS.has(kind));
  cluster.kubectl(['apply', '-f', '-'], rights.map((object) => JSON.stringify(object)).join('\n---\n'));
  const token = tokenOf(cluster, account, []);
  const { clusters } = JSON.parse(
    cluster.kubectl(['config', 'view', '--raw', '--flatten', '-o', 'json', '--kubeconfig', cluster.kubeconfig]),
  ) as { readonly clusters: readonly { readonly name: string }[] };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters,
    users: [{ name: account.name, user: { token } }],
    contexts: [{ name: 'own', context: { cluster: clusters[0]?.name, user: account.name } }],
    'current-context': 'own',
  };
  const path = join(cluster.directory, `${account.namespace}-${account.name}.kubeconfig`);
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** A token of a service account, with the audiences that are given, or the API server's own. */
export function tokenOf(
  cluster: TestCluster,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  audiences: readonly string[],
  options: readonly string[] = [],
): string {
  const flags = audiences.map((audience) => `--audience=${audience}`);
  return cluster.kubectl(['create', 'token', name, '-n', namespace, ...flags, ...options]).trim();
}

/** Of a Secret or ConfigMap, as it is stored. */
export interface Stored {
  readonly resourceVersion: string;
  readonly object: KubeObject;
  /** An entry of a Secret, decoded. */
  text(key: string): string;
}

/** A Secret; undefined where there is none. */
export function readSecret(cluster: TestCluster, namespace: string, name: string): Stored | undefined {
  const json = cluster.kubectl(['get', 'secret', name, '-n', namespace, '--ignore-not-found', '-o', 'json']);
  if (json === '') return undefined;
  const object = JSON.parse(json) as KubeObject;
  const data = (object['data'] ?? {}) as Readonly<Record<string, string>>;
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
  return { object, resourceVersion: object.metadata.resourceVersion ?? '', text };
}

/** The entries of a Secret or ConfigMap, decoded, without a process of kubectl; undefined where there is none. */
export async function readEntries(
  { client }: TestCluster,
  plural: 'secrets' | 'configmaps',
  namespace: string,
  name: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  const path = `/api/v1/namespaces/${namespace}/${plural}/${name}`;
  try {
    const { data = {} } = (await client.request({ method: 'GET', path, what: `get ${name}` })) as {
      data?: Record<string, string>;
    };
    const decode = (text: string): string => (plural === 'secrets' ? Buffer.from(text, 'base64').toString() : text);
    return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, decode(text)]));
  } catch (thrown) {
    if (MeshError.from(thrown).code === 'not_found') return undefined;
    throw thrown;
  }
}

/** Resolves when something is so, with what it is; the time limit of the test bounds it. */
export async function eventually<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
