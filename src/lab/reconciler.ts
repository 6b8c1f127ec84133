import type { Logger } from '../io/log/logger.ts';
import { type Duration, milliseconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';

/** Changes that come within this time are handled together. */
const QUIET = milliseconds(10);
const RETRY = milliseconds(1_000);

export interface ReconcilerOptions {
  readonly name: string;
  /** Brings what is to what should be; run again whenever something may have changed. */
  readonly reconcile: () => Promise<void> | void;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Runs one task at a time, again after every trigger that came meanwhile, and again a while after a failure. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  #wanted = false;
  #running = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  readonly trigger = (): void => {
    this.#wanted = true;
    if (this.#running) return;
    this.#running = true;
    this.#run().finally(() => {
      this.#running = false;
    });
  };

  async #run(): Promise<void> {
    const { name, reconcile, sleep, logger, signal } = this.#options;
    while (this.#wanted && !signal.aborted) {
      await sleep(QUIET, signal).catch(() => {});
      if (signal.aborted) return;
      this.#wanted = false;
      try {
        await reconcile();
      } catch (error) {
        logger.warn('a controller failed and will try again', { controller: name, error: MeshError.from(error).message });
        this.#wanted = true;
        await sleep(RETRY, signal).catch(() => {});
      }
    }
  }
}
