import { createReadStream, readdirSync, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import type { ExecTarget } from './exec.ts';
import { type LabPaths, podLogDirectory } from './paths.ts';
import { findPod, parseTarget } from './pod-target.ts';

const FOLLOW_MS = 200;

/** Prints a container's log, and with `follow` what is added to it until the host is asked to stop. Throws `not_found`. */
export async function printLogs(
  paths: LabPaths,
  { target, namespace, container }: ExecTarget,
  follow: boolean,
  host: Host,
): Promise<void> {
  const { pod, run, namespace: found } = findPod(paths, parseTarget(target, namespace));
  const directory = podLogDirectory(paths, found, pod);
  const name = container || run.defaultContainer;
  const path = `${directory}/${name}.log`;
  if (sizeOf(path) === undefined && !follow) {
    const others = containersWithLogs(directory);
    const hint = others.length === 0 ? 'none of its containers has printed anything' : `there are logs of ${others.join(', ')}`;
    throw new MeshError('not_found', `container "${name}" of pod ${found}/${pod} has no log; ${hint}`);
  }
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
