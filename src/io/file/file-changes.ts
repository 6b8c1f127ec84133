/** When files change. Only names and times: what they hold is read by whoever follows them. */
import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';

/** Events get lost on some file systems; this is how late a change is seen then. */
const REREAD: Duration = seconds(10);
/** How soon files that are missing or wrong are read again. */
const RETRY: Duration = seconds(0.5);
/** Whoever writes a file in place empties it first, and files that belong together come one by one: what follows this closely is one change. */
const QUIET: Duration = milliseconds(100);
/** A file that never rests, such as one that is being appended to, is read after so many times that. */
const MAX_WAITS = 20;

export interface FileChanges {
  readonly paths: readonly string[];
  /** Answers whether what it found is in order; if not it is asked again soon. Never rejects. */
  readonly read: () => Promise<boolean>;
  /** Rejects when the signal aborts first. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Calls `read` now and once after every change of the files, when they have come to rest, until the signal aborts. */
export async function followChanges({ paths, read, sleep, signal }: FileChanges): Promise<void> {
  /** Whether something changed within the time, while `during` ran or after it. */
  const changesWithin = async (during: () => Promise<Duration>): Promise<boolean> => {
    const watched = watchFiles(paths, signal);
    const time = await during();
    const due = new AbortController();
    const waiting = sleep(time, AbortSignal.any([signal, due.signal])).then(
      () => false,
      () => false,
    );
    const hasChanged = await Promise.race([watched.changed.then(() => true), waiting]);
    due.abort();
    watched.stop();
    return hasChanged;
  };

  while (!signal.aborted) {
    // Watched before they are read, so that no change falls between.
    const hasChanged = await changesWithin(async () => ((await read()) ? REREAD : RETRY));
    if (!hasChanged) continue;
    for (let wait = 0; wait < MAX_WAITS && !signal.aborted; wait += 1) {
      if (!(await changesWithin(async () => QUIET))) break;
    }
  }
}

interface FileWatch {
  /** Resolves at the first change of any of the files. */
  readonly changed: Promise<void>;
  stop(): void;
}

/**
 * Watches files through their folders, for editors replace a file, and projected volumes a link beside it (`..data`). A folder
 * that does not exist yet, or that cannot be watched, tells nothing: reading again in a while finds what is there.
 */
function watchFiles(paths: readonly string[], parent: AbortSignal): FileWatch {
  const stopped = new AbortController();
  const signal = AbortSignal.any([parent, stopped.signal]);
  const names = new Set(paths.map((path) => basename(path)));
  const concerns = (name: string | null): boolean => name === null || names.has(name) || name.startsWith('..');
  const changed = new Promise<void>((resolve) => {
    const listener = (_event: string, name: string | null): void => {
      if (concerns(name)) resolve();
    };
    for (const folder of new Set(paths.map((path) => dirname(path)))) {
      try {
        watch(folder, { signal, persistent: false }, listener).on('error', () => {});
      } catch {
        // There is no such folder yet.
      }
    }
  });
  return { changed, stop: () => stopped.abort() };
}
