import { MeshError } from '../../lib/errors.ts';

/** For each one that works, this many may wait. */
const QUEUE_FACTOR = 8;

/** Bounds how many requests are worked on at once; a bounded number of others wait, the rest is refused. */
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

  /** @throws MeshError `resource_exhausted` when too many wait already; rejects with `cancelled` when the signal is aborted meanwhile */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#running >= this.#size) await this.#turn(signal);
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#size * QUEUE_FACTOR) {
      throw new MeshError(
        'resource_exhausted',
        `${this.#running} requests are worked on and ${this.#waiting.length} wait already`,
      );
    }
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
