/** From `--orchconfig` to a client of an API server. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Host } from '../../io/host.ts';
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { isInCluster } from '../../io/kubernetes/in-cluster.ts';
import { openInCluster, openKubeconfig } from '../../io/kubernetes/open-client.ts';
import { MeshError } from '../../lib/errors.ts';

const FLAG = '--orchconfig (or MESH_ORCHCONFIG)';
const SCHEME = 'k8s://';

/** Opens the client, runs the command with it, and closes it. Throws MeshError `usage` for a path that leads to no API server. */
export async function withCluster<T>(orchconfig: string, host: Host, run: (client: KubernetesClient) => Promise<T>): Promise<T> {
  const client = open(orchconfig, host);
  try {
    return await run(client);
  } finally {
    client.close();
  }
}

function open(orchconfig: string, { env, now, cwd }: Host): KubernetesClient {
  const deps = { flag: FLAG, env, now };
  const path = orchconfig.startsWith(SCHEME) ? orchconfig.slice(SCHEME.length) : orchconfig;
  if (path === '') {
    if (isInCluster(env)) return openInCluster(deps);
    throw new MeshError('usage', `${FLAG} is required outside a cluster: give a kubeconfig`);
  }
  const file = resolve(cwd, path);
  if (path.startsWith('fs://') || statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
    throw new MeshError(
      'usage',
      `${FLAG}: ${path} is a directory of manifests; an installation needs an API server: give a kubeconfig`,
    );
  }
  return openKubeconfig(file, deps);
}
