import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../io/host.ts';
import type { Duration } from '../lib/duration.ts';
import { findTools, type Tools } from './tools.ts';

/** What the daemons use of the machine that they run on. */
export interface Machine {
  readonly tools: Tools;
  /** Of [0, 1). */
  readonly random: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
}

/** @throws MeshError when a program that the lab needs is missing */
export function machineOf(env: Host['env']): Machine {
  return {
    tools: findTools(env['PATH']),
    random: Math.random,
    sleep: (time, signal) => delay(time, undefined, { signal }),
  };
}
