import { resolve } from 'node:path';
import { MeshError } from '../lib/errors.ts';

/** Where the parts of a lab are in its state directory. */
export interface LabPaths {
  readonly dir: string;
  /** The objects; survives the lab. */
  readonly store: string;
  /** Key that signs service account tokens; survives the lab. */
  readonly tokenKey: string;
  readonly logs: string;
  /** What is only true while the lab runs. */
  readonly run: string;
  /** Which process is the lab. */
  readonly runState: string;
  /** How the control plane is doing. */
  readonly health: string;
  /** Mount point, seen inside the lab alone, of the memory file system for volumes and overlays. */
  readonly memory: string;
  /** Socket by which the node of a real cluster reaches the API server. */
  readonly uplink: string;
}

/** `--dir`, else MESH_LAB_DIR, else `mesh/lab` below the user's state directory (XDG Base Directory Specification). Throws `usage`. */
export function labDirectory(flag: string, env: Readonly<Record<string, string | undefined>>, cwd: string): string {
  const named = flag || env['MESH_LAB_DIR'];
  if (named) return resolve(cwd, named);
  const home = env['HOME'];
  const state = env['XDG_STATE_HOME'] || (home ? `${home}/.local/state` : undefined);
  if (state === undefined) {
    throw new MeshError(
      'usage',
      'the state directory of the lab is not known because HOME is not set; give one by --dir or MESH_LAB_DIR',
    );
  }
  return resolve(cwd, state, 'mesh/lab');
}

export function labPaths(dir: string): LabPaths {
  const run = `${dir}/run`;
  return {
    dir,
    store: `${dir}/store`,
    tokenKey: `${dir}/token-key.json`,
    logs: `${dir}/logs`,
    run,
    runState: `${run}/lab.json`,
    health: `${run}/health.json`,
    memory: `${run}/memory`,
    uplink: `${run}/uplink.sock`,
  };
}

export function podRunFile(paths: LabPaths, namespace: string, pod: string): string {
  return `${paths.run}/pods/${namespace}/${pod}.json`;
}

export function podLogDirectory(paths: LabPaths, namespace: string, pod: string): string {
  return `${paths.logs}/pods/${namespace}/${pod}`;
}

/** The components that run beside the pods, by the names that users know. */
export const CONTROL_PLANE: readonly string[] = ['mesh_ca', 'pilot-discovery'];

export function controlPlaneLog(paths: LabPaths, component: string): string {
  return `${paths.logs}/control-plane/${component}.log`;
}
