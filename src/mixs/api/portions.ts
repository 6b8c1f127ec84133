import { setImmediate as nextTurn } from 'node:timers/promises';

/** How many: enough to be worth a call, few enough that others need not wait long. */
export const PORTION = 100;

/**
 * Works on many things in portions, and lets other requests have a turn in between: one message can hold ten thousand reports, each of which
 * takes a hundred times its bytes while it is worked on. Ends early when the signal is aborted.
 */
export async function inPortions<T>(
  things: Iterable<T>,
  signal: AbortSignal,
  work: (portion: readonly T[]) => Promise<void>,
): Promise<void> {
  let portion: T[] = [];
  for (const thing of things) {
    portion.push(thing);
    if (portion.length < PORTION) continue;
    await work(portion);
    portion = [];
    await nextTurn();
    if (signal.aborted) return;
  }
  if (portion.length > 0) await work(portion);
}
