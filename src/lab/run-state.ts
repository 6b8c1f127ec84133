import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { MeshError } from '../lib/errors.ts';
import { isRecord } from './kubelet/fields.ts';
import type { LabPaths } from './paths.ts';
import { isRunning, type ProcessIdentity } from './process-identity.ts';

/** Which process is the lab: the first one of its process namespace, as this machine sees it. */
export interface RunState {
  readonly init: ProcessIdentity;
  /** The lab lives in a user namespace of its own. */
  readonly rootless: boolean;
  /** The real cluster that the lab is a node of; absent: it is a cluster of its own. */
  readonly cluster?: ClusterMembership;
}

export interface ClusterMembership {
  readonly kubeconfig: string;
  /** Name of the lab's Node object. */
  readonly node: string;
  /** The process by which the node reaches the API server; undefined when it ended at once. */
  readonly uplink: ProcessIdentity | undefined;
}

/** How the daemon says it is doing. */
export interface LabHealth {
  /** The daemon follows the store and runs pods. */
  readonly serving: boolean;
  readonly components: readonly {
    readonly name: string;
    readonly ready: boolean;
    readonly restarts: number;
    readonly message: string;
  }[];
}

/** The lab that runs in a state directory; undefined when none does. */
export function runningLab(paths: LabPaths): RunState | undefined {
  const state = lastLab(paths);
  return state !== undefined && isRunning(state.init) ? state : undefined;
}

/** The lab that ran last in a state directory, and may have been killed since. */
export function lastLab(paths: LabPaths): RunState | undefined {
  const state = readJson(paths.runState);
  const init = isRecord(state) ? identityOf(state['init']) : undefined;
  if (!isRecord(state) || init === undefined) return undefined;
  const cluster = membershipOf(state['cluster']);
  return { init, rootless: state['rootless'] === true, ...(cluster === undefined ? {} : { cluster }) };
}

function identityOf(value: unknown): ProcessIdentity | undefined {
  if (!isRecord(value)) return undefined;
  const { pid, startTime, bootId } = value;
  if (typeof pid !== 'number' || typeof startTime !== 'string' || typeof bootId !== 'string') return undefined;
  return { pid, startTime, bootId };
}

function membershipOf(value: unknown): ClusterMembership | undefined {
  if (!isRecord(value)) return undefined;
  const { kubeconfig, node } = value;
  if (typeof kubeconfig !== 'string' || typeof node !== 'string') return undefined;
  return { kubeconfig, node, uplink: identityOf(value['uplink']) };
}

/** Throws `failed_precondition` that says how to start one. */
export function requireLab(paths: LabPaths): RunState {
  const state = runningLab(paths);
  if (state === undefined)
    throw new MeshError(
      'failed_precondition',
      `no lab is running in ${paths.dir}; start it with: mesh lab up --dir ${paths.dir}`,
    );
  return state;
}

/** What the daemon said last; undefined before it said anything. */
export function readHealth(paths: LabPaths): LabHealth | undefined {
  const health = readJson(paths.health);
  if (!isRecord(health) || !Array.isArray(health['components'])) return undefined;
  const components = health['components'].filter(isRecord).map((component) => ({
    name: String(component['name']),
    ready: component['ready'] === true,
    restarts: Number(component['restarts']),
    message: String(component['message']),
  }));
  return { serving: health['serving'] === true, components };
}

/** Says how the daemon is doing, for readHealth(). */
export function writeHealth(paths: LabPaths, health: LabHealth): void {
  mkdirSync(paths.run, { recursive: true });
  writeFileSync(`${paths.health}.new`, JSON.stringify(health), { mode: 0o600 });
  renameSync(`${paths.health}.new`, paths.health);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // Absent, or half-written by a lab that was killed: there is no such state.
    return undefined;
  }
}
