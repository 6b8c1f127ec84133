import type { FetchClock } from '../../src/io/jwks/fetcher.ts';
import type { Duration } from '../../src/lib/duration.ts';

/** A clock that stands still until it is told to go on. */
export class FakeFetchClock implements FetchClock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

  now(): number {
    return this.#now;
  }

  after(delay: Duration, run: () => void): () => void {
    const timer = { at: this.#now + delay, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How long until each timer, sorted. */
  pending(): readonly number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((left, right) => left - right);
  }

  /** Goes on and runs what falls due. */
  advance(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.#timers]) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(timer);
      timer.run();
    }
  }
}
