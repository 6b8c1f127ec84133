import { MeshError } from '../lib/errors.ts';

/** For each one that works, this many may wait. */
const QUEUE_FACTOR = 8;

/** Bounds how much is worked on at once; a bounded number of others wait, the rest is refused. */
export class WorkerPool {
  readonly #size: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(size: number) {
    this.#size = size;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get hasRoom(): boolean {
    return this.#running < this.#size;
  }

  /** Takes a worker for something that has begun already, where there is room. */
  async hold(work: Promise<unknown>): Promise<void> {
    this.#running++;
    try {
      await work;
    } finally {
      this.#leave();
    }
  }

  /** @throws MeshError `resource_exhausted` when too many wait already; rejects with `cancelled` when the signal is aborted meanwhile */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (!this.hasRoom && this.#waiting.length >= this.#size * QUEUE_FACTOR) {
      throw new MeshError('resource_exhausted', `${this.#running} are worked on and ${this.#waiting.length} wait already`);
    }
    return this.wait(work, signal);
  }

  /**
   * As `run`, however many wait already: for callers who have but one thing under way at a time, such as streams.
   *
   * Rejects with `cancelled` when the signal is aborted meanwhile.
   */
  async wait<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.hasRoom) this.#running++;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** The next that waits takes the place over, so that nobody who comes in between finds it free too. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw new MeshError('cancelled', 'the request ended before it was worked on');
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(new MeshError('cancelled', 'the request ended while it waited'));
      };
      this.#waiting.push(begin);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
