import { type Duration, milliseconds } from './duration.ts';

/** Waits between tries that fail. */
export interface Backoff {
  readonly first: Duration;
  readonly longest: Duration;
}

/** The wait before attempt `attempt` (1 is the first retry): doubling. */
export function doubled(backoff: Backoff, attempt: number): Duration {
  return milliseconds(Math.min(backoff.longest, backoff.first * 2 ** Math.max(0, attempt - 1)));
}

/** The same between a half and the whole of it, so that many clients do not come back at once. `random` gives [0, 1). */
export function jittered(backoff: Backoff, attempt: number, random: () => number): Duration {
  return milliseconds(doubled(backoff, attempt) * (0.5 + random() / 2));
}
