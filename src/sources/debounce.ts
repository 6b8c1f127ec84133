import type { Duration } from '../lib/duration.ts';

/** Timers, so that tests can turn the clock themselves. */
export interface Timers {
  now(): number;
  set(run: () => void, delay: Duration): unknown;
  clear(timer: unknown): void;
}

export const systemTimers: Timers = {
  now: () => performance.now(),
  set: (run, delay) => setTimeout(run, delay),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

export interface DebounceOptions {
  /** How long it must be quiet before the flush. */
  readonly quiet: Duration;
  /** The longest that changes wait while it never becomes quiet. */
  readonly max: Duration;
  readonly timers: Timers;
}

export interface Debouncer {
  /** Something changed. */
  touch(): void;
  /** Drops what is pending. */
  close(): void;
}

/**
 * Folds bursts of changes into one flush: `quiet` after the last change, or `max` after the first one if changes never pause.
 */
export function createDebouncer(options: DebounceOptions, flush: () => void): Debouncer {
  const { quiet, max, timers } = options;
  let timer: unknown;
  let first: number | undefined;

  const fire = (): void => {
    timer = undefined;
    first = undefined;
    flush();
  };

  return {
    touch() {
      const now = timers.now();
      first ??= now;
      if (timer !== undefined) timers.clear(timer);
      timer = timers.set(fire, Math.max(0, Math.min(quiet, first + max - now)) as Duration);
    },
    close() {
      if (timer !== undefined) timers.clear(timer);
      timer = undefined;
      first = undefined;
    },
  };
}
