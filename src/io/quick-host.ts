import { writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { DEFAULT_DOMAIN, namesFor } from '../lib/names.ts';
import type { Host } from './host.ts';
import { type ProcessLike, reportLoss } from './process-host.ts';

/**
 * The host of a command that prints a few lines and ends at once. It writes to the descriptors themselves, for Node takes 3 ms to load
 * its streams, and leaves signals alone. Only `write` with a text is there of its outputs.
 */
export function quickHost(process: ProcessLike, now: () => Date = () => new Date()): Host {
  return {
    env: process.env,
    get stdin() {
      return process.stdin;
    },
    stdout: output(1, process, () => process.stdout),
    stderr: output(2, process, () => process.stderr),
    cwd: process.cwd(),
    signal: new AbortController().signal,
    names: namesFor(process.env['MESH_DOMAIN'] || DEFAULT_DOMAIN),
    now,
  };
}

function output(descriptor: number, process: ProcessLike, stream: () => Writable): Writable {
  const write = (text: string): boolean => {
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length; ) {
      try {
        written += writeSync(descriptor, bytes, written);
      } catch (thrown) {
        const error = thrown as NodeJS.ErrnoException;
        // Somebody made the pipe non-blocking, and its reader is slow: Node's stream knows how to wait.
        if (error.code === 'EAGAIN') return stream().write(bytes.subarray(written));
        // As with processHost: a reader that went away is no failure, and standard error has nowhere to complain.
        if (error.code !== 'EPIPE' && descriptor === 1) reportLoss(process, error);
        return false;
      }
    }
    return true;
  };
  return { write } as Partial<Writable> as Writable;
}
