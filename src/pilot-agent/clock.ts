import { type Duration, milliseconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';

/** Time as the agent sees it; tests have one of their own. */
export interface Clock {
  now(): Date;
  /** Milliseconds of a clock that never jumps, for measuring spans. */
  elapsed(): number;
  /** Resolves after the time; rejects with `cancelled` when the signal aborts first. */
  sleep(time: Duration, signal: AbortSignal): Promise<void>;
}

/** Timers of Node hold less than 25 days, and a suspended machine or a corrected clock must not delay a rotation. */
const LONGEST_TIMER_MS = 10_000;

export function systemClock(now: () => Date): Clock {
  return { now, elapsed: () => performance.now(), sleep: (time, signal) => timer(Math.max(0, time), signal) };
}

/** Sleeps until a date of the wall clock, however that clock is set meanwhile. */
export async function sleepUntil(date: Date, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    const left = date.getTime() - clock.now().getTime();
    if (left <= 0) return;
    await clock.sleep(milliseconds(Math.min(left, LONGEST_TIMER_MS)), signal);
  }
}

function timer(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancelled = () => {
      clearTimeout(timeout);
      reject(new MeshError('cancelled', 'the wait was cancelled'));
    };
    if (signal.aborted) return cancelledNow(reject);
    const timeout = setTimeout(() => {
      signal.removeEventListener('abort', cancelled);
      resolve();
    }, ms);
    signal.addEventListener('abort', cancelled, { once: true });
  });
}

const cancelledNow = (reject: (error: MeshError) => void): void => reject(new MeshError('cancelled', 'the wait was cancelled'));
