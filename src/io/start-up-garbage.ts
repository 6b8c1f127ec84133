/** Gives back the memory that a component needed to start. */
import type { Duration } from '../lib/duration.ts';

/** A larger heap has been collected already, and would take long. */
const MAX_HEAP_BYTES = 64 * 1024 * 1024;

type Collect = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;

/**
 * Collects garbage once after a while, if Node was started with --expose-gc: what is idle allocates nothing, so V8 would keep the pages of
 * its start, some 9 MB, for ever. Does not keep the process.
 */
export function collectStartUpGarbage(after: Duration, collect: Collect | undefined, heapBytes: () => number): void {
  if (collect === undefined) return;
  const timer = setTimeout(() => {
    if (heapBytes() <= MAX_HEAP_BYTES) collect({ type: 'major', flavor: 'last-resort' });
  }, after);
  timer.unref();
}
