/** From a path, as flags give it, to a client. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatProblem, MeshError, type Parsed } from '../../lib/errors.ts';
import { buildInfo } from '../../lib/version.ts';
import type { Access } from './access.ts';
import { createKubernetesClient, type KubernetesClient } from './client.ts';
import { inClusterAccess } from './in-cluster.ts';
import { parseKubeconfig } from './kubeconfig.ts';
import { parseRemoteKubeconfig } from './remote-access.ts';

export interface OpenClientDeps {
  /** The flag that the path was given with, for messages. */
  readonly flag: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
}

/** A client as a kubeconfig says. Throws MeshError `usage` with every problem of the file. */
export function openKubeconfig(path: string, deps: OpenClientDeps): KubernetesClient {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new MeshError('usage', `${deps.flag}: ${path} cannot be read: ${MeshError.from(error).message}`, error);
  }
  return open(parseKubeconfig(text, dirname(path)), `${path} is no usable kubeconfig`, deps);
}

/**
 * A client as the text of a kubeconfig says that came from elsewhere; `deps.flag` says where from. Throws MeshError `usage` with every
 * problem, for one that names files or programs of this machine too.
 */
export function openRemoteKubeconfig(text: string, deps: OpenClientDeps): KubernetesClient {
  return open(parseRemoteKubeconfig(text), 'no usable kubeconfig', deps);
}

/** A client as the pod's own files say. Throws MeshError `usage` when they are not there. */
export function openInCluster(deps: OpenClientDeps, directory?: string): KubernetesClient {
  return open(inClusterAccess(deps.env, directory), 'empty means the configuration in the cluster, which is not complete', deps);
}

function open(access: Parsed<Access>, failure: string, { flag, env, now }: OpenClientDeps): KubernetesClient {
  if (!access.ok) {
    const problems = access.problems.map(formatProblem).join('; ');
    throw new MeshError('usage', `${flag}: ${failure}: ${problems}`);
  }
  return createKubernetesClient({
    access: access.value,
    flag,
    env,
    now,
    sleep: (time, signal) => sleep(time, undefined, { signal }),
    userAgent: `mesh/${buildInfo.version}`,
  });
}
