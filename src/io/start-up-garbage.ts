/** Gives back the memory that a component needed to start. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Duration } from '../lib/duration.ts';

/** A larger heap has been collected already, and would take long. */
const MAX_HEAP_BYTES = 64 * 1024 * 1024;

/**
 * Collects garbage once after a while: what is idle allocates nothing, so V8 would keep the pages of its start, some 9 MB, for ever. Does
 * not keep the process.
 */
export function collectStartUpGarbage(
  after: Duration,
  collect: () => void = collectNow,
  heapBytes: () => number = () => process.memoryUsage().heapUsed,
): void {
  const timer = setTimeout(() => {
    if (heapBytes() <= MAX_HEAP_BYTES) collect();
  }, after);
  timer.unref();
}

/** Node started with --expose-gc would not use the code that it and we have compiled beforehand, and start a third slower. */
function collectNow(): void {
  setFlagsFromString('--expose-gc');
  // `last-resort` gives pages back that an ordinary collection keeps at hand.
  runInNewContext("gc({ type: 'major', flavor: 'last-resort' })");
  setFlagsFromString('--no-expose-gc');
}
