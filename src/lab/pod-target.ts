import { readdirSync, readFileSync } from 'node:fs';
import { MeshError } from '../lib/errors.ts';
import type { ContainerContext } from './kubelet/container-launch.ts';
import { type LabPaths, podRunFile } from './paths.ts';

/** A pod's running containers, as the daemon notes them. */
export interface PodRunFile {
  /** The container meant when none is named. */
  readonly defaultContainer: string;
  readonly containers: Readonly<Record<string, { readonly pid: number; readonly context: ContainerContext }>>;
}

export interface PodTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly run: PodRunFile;
}

/** Name and namespace of `POD-OR-DEPLOYMENT[.NS]`; `flag` is the namespace given by a flag, or empty. Throws `usage`. */
export function parseTarget(text: string, flag: string): { readonly name: string; readonly namespace: string } {
  const dot = text.lastIndexOf('.');
  const name = dot < 0 ? text : text.slice(0, dot);
  const namespace = dot < 0 ? flag || 'default' : text.slice(dot + 1);
  if (name === '' || namespace === '')
    throw new MeshError('usage', `"${text}" is not POD-OR-DEPLOYMENT[.NAMESPACE], such as sleep.foo`);
  if (flag !== '' && flag !== namespace)
    throw new MeshError('usage', `"${text}" says namespace ${namespace}, the flag says ${flag}`);
  return { name, namespace };
}

/** The pod of that name, else a pod of the deployment of that name that runs. Throws `not_found`. */
export function findPod(paths: LabPaths, { name, namespace }: { readonly name: string; readonly namespace: string }): PodTarget {
  const pods = podsOf(paths, namespace);
  const candidates = pods.filter((pod) => pod === name || deploymentOf(pod) === name);
  const found = candidates.map((pod) => ({ namespace, pod, run: readRunFile(paths, namespace, pod) }));
  const best =
    found.find(({ pod }) => pod === name) ?? found.find(({ run }) => Object.keys(run.containers).length > 0) ?? found[0];
  if (best !== undefined) return best;
  const others = pods.length === 0 ? 'no pod runs there' : `its pods are ${pods.join(', ')}`;
  throw new MeshError('not_found', `namespace "${namespace}" has no pod or deployment "${name}"; ${others}`);
}

/** `sleep` of `sleep-qrbkd54xw9-x2vnk`; Kubernetes leaves zeros at the start of the hash out. */
function deploymentOf(pod: string): string {
  return pod.replace(/-[a-z0-9]{6,10}-[a-z0-9]{5}$/, '');
}

function podsOf(paths: LabPaths, namespace: string): readonly string[] {
  try {
    return readdirSync(`${paths.run}/pods/${namespace}`)
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length))
      .sort();
  } catch {
    return [];
  }
}

function readRunFile(paths: LabPaths, namespace: string, pod: string): PodRunFile {
  try {
    return JSON.parse(readFileSync(podRunFile(paths, namespace, pod), 'utf8')) as PodRunFile;
  } catch {
    return { defaultContainer: '', containers: {} };
  }
}
