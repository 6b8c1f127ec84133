import { createReadStream, readdirSync, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import type { ExecTarget } from './exec.ts';
import { CONTROL_PLANE, controlPlaneLog, type LabPaths, podLogDirectory } from './paths.ts';
import { findPod, parseTarget } from './pod-target.ts';

const FOLLOW_MS = 200;

/** Prints the log of a container or of a component of the control plane, and with `follow` what is added to it until the host is asked to stop. Throws `not_found`. */
export async function printLogs(
  paths: LabPaths,
  { target, namespace, container }: ExecTarget,
  follow: boolean,
  host: Host,
): Promise<void> {
  const isComponent = CONTROL_PLANE.includes(target) && namespace === '' && container === '';
  const path = isComponent ? controlPlaneLog(paths, target) : containerLog(paths, { target, namespace, container }, follow);
  let offset = 0;
  do {
    const size = sizeOf(path) ?? 0;
    // A full log was put aside and a new one begun.
    if (size < offset) offset = 0;
    if (size > offset) await pipeline(createReadStream(path, { start: offset, end: size - 1 }), host.stdout, { end: false });
    offset = size;
    if (follow) await delay(FOLLOW_MS, undefined, { signal: host.signal }).catch(() => {});
  } while (follow && !host.signal.aborted);
}

function containerLog(paths: LabPaths, { target, namespace, container }: ExecTarget, follow: boolean): string {
  const { pod, run, namespace: found } = findPod(paths, parseTarget(target, namespace));
  const directory = podLogDirectory(paths, found, pod);
  const name = container || run.defaultContainer;
  const path = `${directory}/${name}.log`;
  if (sizeOf(path) !== undefined || follow) return path;
  const others = containersWithLogs(directory);
  const hint = others.length === 0 ? 'none of its containers has printed anything' : `there are logs of ${others.join(', ')}`;
  throw new MeshError('not_found', `container "${name}" of pod ${found}/${pod} has no log; ${hint}`);
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

function containersWithLogs(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((file) => file.endsWith('.log'))
      .map((file) => file.slice(0, -'.log'.length))
      .sort();
  } catch {
    return [];
  }
}
