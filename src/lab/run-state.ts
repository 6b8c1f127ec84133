import { readFileSync } from 'node:fs';
import { MeshError } from '../lib/errors.ts';
import { isRecord } from './kubelet/fields.ts';
import type { LabPaths } from './paths.ts';
import { isRunning, type ProcessIdentity } from './process-identity.ts';

/** Which process is the lab: the first one of its process namespace, as this machine sees it. */
export interface RunState {
  readonly init: ProcessIdentity;
  /** The lab lives in a user namespace of its own. */
  readonly rootless: boolean;
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
  const state = readJson(paths.runState);
  if (!isRecord(state) || !isRecord(state['init'])) return undefined;
  const { pid, startTime, bootId } = state['init'];
  if (typeof pid !== 'number' || typeof startTime !== 'string' || typeof bootId !== 'string') return undefined;
  const init = { pid, startTime, bootId };
  return isRunning(init) ? { init, rootless: state['rootless'] === true } : undefined;
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

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    // Absent, or half-written by a lab that was killed: there is no such state.
    return undefined;
  }
}
