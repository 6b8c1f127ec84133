/** Work on things by their key: each once at a time, few at once, again after a growing wait when it fails (client-go, util/workqueue). */
import { type Backoff, jittered } from '../lib/backoff.ts';
import type { Duration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';

export interface WorkQueueOptions {
  readonly work: (key: string) => Promise<void>;
  /** How many keys are worked on at once. */
  readonly workers: number;
  readonly backoff: Backoff;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly onFailure: (key: string, error: MeshError, retryIn: Duration) => void;
  /** Ends it; what runs is not waited for. */
  readonly signal: AbortSignal;
}

interface Failure {
  readonly count: number;
  readonly waiting: AbortController;
}

/** Never holds a key twice, so that it is as large as there are keys, however often they are added. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #ready = new Set<string>();
  readonly #running = new Set<string>();
  /** Added while they are worked on, which may have looked too early. */
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, Failure>();
  #idle: (() => void)[] = [];

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => this.#stop(), { once: true });
  }

  /** Has a key worked on as soon as there is a worker, a wait after a failure notwithstanding. */
  add(key: string): void {
    if (this.#options.signal.aborted) return;
    this.#failures.get(key)?.waiting.abort();
    if (this.#running.has(key)) this.#again.add(key);
    else this.#ready.add(key);
    this.#start();
  }

  /** Resolves when nothing runs and nothing is ready to; failures that wait for another try do not count. */
  async idle(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#options.signal.aborted || (this.#ready.size === 0 && this.#running.size === 0);
  }

  #start(): void {
    for (const key of this.#ready) {
      if (this.#running.size >= this.#options.workers) return;
      this.#ready.delete(key);
      this.#running.add(key);
      this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    const { work, signal } = this.#options;
    try {
      await work(key);
      this.#failures.delete(key);
    } catch (thrown) {
      if (!signal.aborted) this.#failed(key, MeshError.from(thrown));
    }
    this.#running.delete(key);
    if (signal.aborted) return;
    if (this.#again.delete(key)) this.add(key);
    this.#start();
    if (!this.#isIdle) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #failed(key: string, error: MeshError): void {
    const { backoff, random, sleep, onFailure } = this.#options;
    const failure = { count: (this.#failures.get(key)?.count ?? 0) + 1, waiting: new AbortController() };
    this.#failures.set(key, failure);
    const wait = jittered(backoff, failure.count, random);
    onFailure(key, error, wait);
    sleep(wait, failure.waiting.signal).then(
      () => this.add(key),
      () => {},
    );
  }

  #stop(): void {
    for (const { waiting } of this.#failures.values()) waiting.abort();
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
