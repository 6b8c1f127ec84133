import { jittered } from '../../lib/backoff.ts';
import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';

/** `half-open`: one call is made, or may be, to see whether it works again. */
export const CIRCUIT_STATES = ['closed', 'open', 'half-open'] as const;
export type CircuitState = (typeof CIRCUIT_STATES)[number];

export interface CircuitBreakerOptions {
  /** So many failures in a row open the circuit. */
  readonly consecutiveFailures: number;
  /** How long it stays open the first time; twice as long each time that the one call fails too, up to a minute. */
  readonly openDuration: Duration;
  /** Milliseconds of a clock that never jumps. */
  readonly elapsed: () => number;
  /** Of [0, 1). */
  readonly random: () => number;
  readonly onOpen: () => void;
}

/** Leave to make one call. One of the three has to be told; what comes after the circuit has changed is not heard. */
export interface Permit {
  succeeded(): void;
  failed(): void;
  /** Nobody knows what would have come of it. */
  abandoned(): void;
}

const LONGEST_OPEN = seconds(60);

/** Spares a back end that does not work the calls, and those who call the waiting. */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #failures = 0;
  /** Times that it was opened since it was closed last. */
  #openings = 0;
  #openUntil = 0;
  #trying = false;
  /** Whether a call has failed since one succeeded. */
  #callFailed = false;
  /** Changes with every opening and closing: outcomes of calls from before are of no use. */
  #era = 0;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get state(): CircuitState {
    if (this.#openings === 0) return 'closed';
    return this.#trying || this.#options.elapsed() >= this.#openUntil ? 'half-open' : 'open';
  }

  /** `undefined` where no call is to be made now. */
  admit(): Permit | undefined {
    if (this.#openings === 0) return this.#permit(() => {});
    if (this.#trying || this.state === 'open') return undefined;
    this.#trying = true;
    return this.#permit(() => {
      this.#trying = false;
    });
  }

  /** A failure beside the calls, such as of a health check. While the circuit is not closed it says nothing new. */
  failure(): void {
    if (this.#openings > 0) return;
    this.#failures++;
    if (this.#failures >= this.#options.consecutiveFailures) this.#open();
  }

  /**
   * All is well beside the calls: forgets what has failed there, unless calls have failed too, for then only a call can tell that calls
   * work. Gives whether nothing is known to fail.
   */
  healthy(): boolean {
    if (!this.#callFailed) this.#close();
    return !this.#callFailed;
  }

  #permit(end: () => void): Permit {
    const era = this.#era;
    const told = (what: () => void) => (): void => {
      if (era !== this.#era) return;
      end();
      what();
    };
    return {
      succeeded: told(() => this.#close()),
      failed: told(() => {
        this.#callFailed = true;
        if (this.#openings > 0) this.#open();
        else this.failure();
      }),
      abandoned: told(() => {}),
    };
  }

  #close(): void {
    this.#failures = 0;
    this.#callFailed = false;
    if (this.#openings === 0) return;
    this.#openings = 0;
    this.#trying = false;
    this.#era++;
  }

  #open(): void {
    const { openDuration, elapsed, random, onOpen } = this.#options;
    this.#openings++;
    this.#era++;
    this.#failures = 0;
    const longest = milliseconds(Math.max(openDuration, LONGEST_OPEN));
    // Part of it by chance, so that all replicas do not try at once.
    this.#openUntil = elapsed() + jittered({ first: openDuration, longest }, this.#openings, random);
    onOpen();
  }
}
