import { expect } from 'chai';
import { type Duration, milliseconds } from '../../../src/lib/duration.ts';
import { createDebouncer, type Timers } from '../../../src/sources/debounce.ts';

/** A clock that moves when told to. */
class FakeTimers implements Timers {
  #now = 0;
  #next: { at: number; run: () => void } | undefined;

  now(): number {
    return this.#now;
  }

  set(run: () => void, delay: Duration): unknown {
    this.#next = { at: this.#now + delay, run };
    return this.#next;
  }

  clear(timer: unknown): void {
    if (this.#next === timer) this.#next = undefined;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    while (this.#next !== undefined && this.#next.at <= end) {
      const { at, run } = this.#next;
      this.#next = undefined;
      this.#now = at;
      run();
    }
    this.#now = end;
  }
}

function setUp(): { timers: FakeTimers; touch: () => void; close: () => void; flushes: number[] } {
  const timers = new FakeTimers();
  const flushes: number[] = [];
  const options = { quiet: milliseconds(100), max: milliseconds(1_000), timers };
  const debouncer = createDebouncer(options, () => flushes.push(timers.now()));
  return { timers, flushes, touch: () => debouncer.touch(), close: () => debouncer.close() };
}

describe('debouncer', () => {
  it('flushes once, a quiet time after the last change', () => {
    const { timers, touch, flushes } = setUp();
    touch();
    timers.advance(60);
    touch();
    timers.advance(99);
    expect(flushes).to.deep.equal([]);
    timers.advance(1);
    expect(flushes).to.deep.equal([160]);
    timers.advance(5_000);
    expect(flushes).to.deep.equal([160]);
  });

  it('flushes at the latest a maximum time after the first change', () => {
    const { timers, touch, flushes } = setUp();
    for (let at = 0; at < 2_500; at += 50) {
      touch();
      timers.advance(50);
    }
    expect(flushes).to.deep.equal([1_000, 2_000]);
  });

  it('drops what is pending when it is closed', () => {
    const { timers, touch, close, flushes } = setUp();
    touch();
    close();
    timers.advance(5_000);
    expect(flushes).to.deep.equal([]);
  });
});
