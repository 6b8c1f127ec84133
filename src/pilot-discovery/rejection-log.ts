/** Says in the log what proxies reject: a thousand of them reject one thing in the same words, and that is one thing to say. */
import type { Logger } from '../io/log/logger.ts';

export interface LoggedRejection {
  /** `cluster`, `listener` ... */
  readonly type: string;
  /** What it comes from, as people write it. */
  readonly objects: string;
  /** Envoy's words. */
  readonly reason: string;
  readonly proxy: string;
}

export interface RejectionLog {
  add(rejection: LoggedRejection): void;
  /** Says how many more there were where it is time to. To be called every few seconds. */
  flush(): void;
}

/** Milliseconds from a line about a rejection to the next about the same; twice as long each time that there is more to say. */
const FIRST_WINDOW = 10_000;
const LONGEST_WINDOW = 600_000;
/** Different rejections that are told apart; further ones are only counted until some of these have ended. */
const MAX_KEPT = 100;

interface Entry {
  readonly rejection: LoggedRejection;
  readonly proxies: Set<string>;
  rejections: number;
  window: number;
  until: number;
}

const EVERYWHERE = 'every one stands on /debug/syncz, and by its cause on /debug/push_status';

/** @param now milliseconds of a clock that never goes back */
export function createRejectionLog(logger: Logger, now: () => number): RejectionLog {
  const entries = new Map<string, Entry>();
  let others = 0;

  function flushOne(key: string, entry: Entry): void {
    const { rejection, proxies, rejections } = entry;
    if (rejections === 0) {
      entries.delete(key);
      return;
    }
    const { type, objects, reason } = rejection;
    const fields = { type, objects, reason, proxies: proxies.size, rejections };
    logger.error(`more proxies rejected this configuration, or again; ${EVERYWHERE}`, fields);
    proxies.clear();
    entry.rejections = 0;
    entry.window = Math.min(entry.window * 2, LONGEST_WINDOW);
    entry.until = now() + entry.window;
  }

  return {
    add(rejection) {
      const { type, objects, reason, proxy } = rejection;
      const key = JSON.stringify([type, objects, reason]);
      const known = entries.get(key);
      if (known !== undefined) {
        known.rejections += 1;
        known.proxies.add(proxy);
        return;
      }
      if (entries.size >= MAX_KEPT) {
        others += 1;
        return;
      }
      entries.set(key, { rejection, proxies: new Set(), rejections: 0, window: FIRST_WINDOW, until: now() + FIRST_WINDOW });
      logger.error('proxy rejected its configuration; it keeps the last good one', { proxy, type, objects, reason });
    },
    flush() {
      const time = now();
      for (const [key, entry] of entries) if (time >= entry.until) flushOne(key, entry);
      if (others === 0) return;
      logger.error(`proxies rejected more configuration, of too many kinds to name; ${EVERYWHERE}`, { rejections: others });
      others = 0;
    },
  };
}
