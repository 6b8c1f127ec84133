import { MeshError } from '../lib/errors.ts';

/** A proxy sends a handful of requests for each change, and one for each of its clusters at the very worst. */
const BURST = 5_000;
const PER_SECOND = 200;

/** Ends a stream whose client floods it with requests: each costs it nothing and us the reading (a token bucket). */
export class RequestBudget {
  /** Milliseconds of a clock that never goes back. */
  readonly #now: () => number;
  #left = BURST;
  #at: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#at = now();
  }

  /** Throws MeshError `resource_exhausted` when the client sends more than it may. */
  take(): void {
    const now = this.#now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1_000) * PER_SECOND) - 1;
    this.#at = now;
    if (this.#left >= 0) return;
    throw new MeshError(
      'resource_exhausted',
      `the client sends more than ${PER_SECOND} discovery requests a second for longer than a burst of ${BURST}`,
    );
  }
}
