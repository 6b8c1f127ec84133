import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import type { Clock } from './clock.ts';
import { watchFiles } from './file-watch.ts';

/** File events get lost on some file systems; this is how late a change is seen then. */
const REREAD: Duration = seconds(10);
/** How soon files that are missing or wrong are read again. */
const RETRY: Duration = seconds(0.5);
/** Files that belong together are seldom written at once: what follows a change this closely is part of it. */
const QUIET: Duration = milliseconds(100);

/**
 * Calls `read` now and after every change of the files, until the signal aborts. Changes that come in a burst are one.
 * @param read answers whether what it found is in order; if not it is asked again soon
 */
export async function followFiles(
  files: readonly string[],
  read: () => Promise<boolean>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // Watched before it is read, so that no change falls between.
    const watched = watchFiles(files, signal);
    const good = await read();
    const due = new AbortController();
    const waiting = clock.sleep(good ? REREAD : RETRY, AbortSignal.any([signal, due.signal])).then(
      () => false,
      () => false,
    );
    const hasChanged = await Promise.race([watched.changed.then(() => true), waiting]);
    due.abort();
    watched.stop();
    if (hasChanged) await clock.sleep(QUIET, signal).catch(() => {});
  }
}
