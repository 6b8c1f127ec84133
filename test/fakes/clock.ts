import type { Duration } from '../../src/lib/duration.ts';
import { MeshError } from '../../src/lib/errors.ts';
import type { Clock } from '../../src/pilot-agent/clock.ts';

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #ms: number;
  /** What the wall clock is off by. */
  #jumped = 0;
  readonly #start: number;
  #sleepers: Sleeper[] = [];
  #waiting: (() => void)[] = [];

  constructor(start: string) {
    this.#ms = Date.parse(start);
    this.#start = this.#ms;
  }

  now(): Date {
    return new Date(this.#ms + this.#jumped);
  }

  elapsed(): number {
    return this.#ms - this.#start;
  }

  sleep(time: Duration, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(new MeshError('cancelled', 'the wait was cancelled'));
      const sleeper = { until: this.#ms + time, wake: resolve };
      this.#sleepers.push(sleeper);
      for (const waiter of this.#waiting.splice(0)) waiter();
      signal.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(new MeshError('cancelled', 'the wait was cancelled'));
      });
    });
  }

  /** Resolves as soon as somebody sleeps, with how long he still will, in milliseconds. */
  async sleeping(): Promise<number> {
    while (this.#sleepers.length === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return Math.min(...this.#sleepers.map((sleeper) => sleeper.until)) - this.#ms;
  }

  /** Moves the time to when the next sleeper wakes, and wakes him. */
  async wakeNext(): Promise<void> {
    this.advance(await this.sleeping());
  }

  /** Sets the wall clock, which nobody who sleeps notices. */
  jump(ms: number): void {
    this.#jumped += ms;
  }

  advance(ms: number): void {
    this.#ms += ms;
    const awake = this.#sleepers.filter((sleeper) => sleeper.until <= this.#ms);
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.until > this.#ms);
    for (const sleeper of awake) sleeper.wake();
  }
}
