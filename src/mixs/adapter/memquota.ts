import type { MemquotaParams } from '../../rules/adapter/memquota.ts';
import type { AdapterEnvironment, Handler, QuotaRequest, QuotaResult } from './adapter.ts';
import { compact, limitFor, quotaKey } from './quota-key.ts';
import { RollingWindow } from './rolling-window.ts';

/** Windows of those who asked for nothing in a while are let go, so that memory follows who is there now. */
const SWEEP_AFTER_CALLS = 10_000;
/** Of one handler. Dimensions come from requests: without a bound anybody who calls could fill the memory. */
const MAX_WINDOWS = 100_000;
const MAX_REMEMBERED = 100_000;

/** Quotas in memory, over a rolling window for each combination of dimensions. */
export function openMemquota({ limits, minDeduplicationDuration }: MemquotaParams, { elapsed }: AdapterEnvironment): Handler {
  const windows = new Map<string, RollingWindow>();
  const remembered = new Deduplication(minDeduplicationDuration);
  let calls = 0;

  const sweep = (ms: number): void => {
    for (const [key, window] of windows) if (window.isIdle(ms)) windows.delete(key);
  };

  return {
    quota: (instance, request) => {
      const limit = limits.find(({ instance: name }) => name === instance.name);
      // Rules send only instances that some limit names, or the limit would have been refused.
      if (limit === undefined)
        return { status: { code: 5, message: `there is no limit for ${instance.name}` }, granted: 0, validMs: 0 };
      const { maxAmount, validDuration } = limitFor(limit, instance.dimensions);
      const key = compact(quotaKey(instance));
      const ms = elapsed();
      if (++calls % SWEEP_AFTER_CALLS === 0) sweep(ms);
      return remembered.once(key, request, ms, () => {
        const window = windows.get(key) ?? (windows.size < MAX_WINDOWS ? new RollingWindow(validDuration) : undefined);
        if (window === undefined) return TOO_MANY;
        windows.set(key, window);
        return resultOf(window.take(request.amount, maxAmount, request.bestEffort, ms), validDuration);
      });
    },
    close: async () => {},
  };
}

const TOO_MANY: QuotaResult = {
  status: { code: 8, message: `more than ${MAX_WINDOWS} combinations of dimensions are counted already` },
  granted: 0,
  validMs: 0,
};

const resultOf = (granted: number, validMs: number): QuotaResult => ({
  status: granted > 0 ? { code: 0, message: '' } : { code: 8, message: 'quota is exhausted' },
  granted,
  validMs,
});

/** Calls that are tried again get the answer that the first one got. */
class Deduplication {
  readonly #ms: number;
  #current = new Map<string, QuotaResult>();
  #previous = new Map<string, QuotaResult>();
  #turnedAt = 0;

  constructor(ms: number) {
    this.#ms = ms;
  }

  once(key: string, { deduplicationId }: QuotaRequest, ms: number, allocate: () => QuotaResult): QuotaResult {
    if (deduplicationId === '') return allocate();
    this.#turn(ms);
    const id = compact(`${deduplicationId}\n${key}`);
    const known = this.#current.get(id) ?? this.#previous.get(id);
    if (known !== undefined) return known;
    const result = allocate();
    if (this.#current.size < MAX_REMEMBERED) this.#current.set(id, result);
    return result;
  }

  /** An answer is kept in one generation at least as long as asked for, and at most twice as long. */
  #turn(ms: number): void {
    if (ms - this.#turnedAt < this.#ms) return;
    this.#previous = ms - this.#turnedAt < 2 * this.#ms ? this.#current : new Map();
    this.#current = new Map();
    this.#turnedAt = ms;
  }
}
