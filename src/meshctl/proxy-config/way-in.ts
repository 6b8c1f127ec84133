/** The way into the container of a proxy: the lab's, or kubectl's, with the rights of whoever runs the command. */
import { accessSync, constants } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Host } from '../../io/host.ts';
import { isInCluster } from '../../io/kubernetes/in-cluster.ts';
import { MeshError } from '../../lib/errors.ts';
import { kindsFor } from '../../model/kinds.ts';
import { hasSidecar, PROXY_CONTAINER } from '../discovery/by-lab.ts';
import { isDirectory } from '../discovery/open-replicas.ts';
import { requirePod } from '../find-pod.ts';
import { labExec, labOf } from '../reach/lab.ts';
import type { ExecProgram } from '../reach/run-program.ts';
import { withStore } from '../session.ts';

export interface PodName {
  readonly name: string;
  readonly namespace: string;
}

/** A way, or why there is none. */
export type WayIn = { readonly program: ExecProgram } | { readonly reason: string };

/**
 * The way to the proxy of a pod, or of a pod of the workload of that name. Throws MeshError `not_found` when there is no such pod,
 * `failed_precondition` when it has no proxy, and what reading the store throws.
 */
export async function wayIn(target: PodName, orchconfig: string, host: Host): Promise<WayIn> {
  if (orchconfig === '' && !isInCluster(host.env)) return { reason: 'neither --orchconfig nor MESH_ORCHCONFIG is given' };
  const pod = await podWithProxy(target, orchconfig, host);
  if (isDirectory(orchconfig, host.cwd)) {
    const lab = labOf(orchconfig, host);
    return lab === undefined ? { reason: `no lab runs on ${orchconfig}` } : { program: labExec(lab, pod, PROXY_CONTAINER, host) };
  }
  const kubectl = findOnPath('kubectl', host.env['PATH']);
  return kubectl === undefined
    ? { reason: 'kubectl, which runs commands in pods, is not on the PATH' }
    : { program: kubectlExec(kubectl, pod, orchconfig, host) };
}

async function podWithProxy(target: PodName, orchconfig: string, host: Host): Promise<PodName> {
  return withStore(orchconfig, host, async (store) => {
    const objects = await store.list(kindsFor(host.names).pod, target.namespace);
    const pods = objects.map((object) => ({ name: object.metadata.name, namespace: target.namespace, object }));
    const { name, namespace, object } = requirePod(pods, target);
    if (hasSidecar(object, host)) return { name, namespace };
    throw new MeshError('failed_precondition', `pod ${name}.${namespace} has no sidecar, so there is no proxy to ask`);
  });
}

function kubectlExec(program: string, { name, namespace }: PodName, orchconfig: string, { cwd, env }: Host): ExecProgram {
  const path = orchconfig.replace(/^k8s:\/\//, '');
  const config = path === '' ? [] : ['--kubeconfig', resolve(cwd, path)];
  const args = [...config, 'exec', '--namespace', namespace, name, '--container', PROXY_CONTAINER, '--'];
  return { title: `kubectl exec ${name}.${namespace}`, program, args, env };
}

function findOnPath(program: string, path: string | undefined): string | undefined {
  const candidates = (path ?? '').split(':').filter((directory) => directory.startsWith('/'));
  return candidates.map((directory) => join(directory, program)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
