/** When to fetch a key set the next time. Pure. */
import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';

export interface FetchPolicy {
  /** Between successful fetches. */
  readonly refresh: Duration;
  /** After the first failure; doubles with each further one. */
  readonly retry: Duration;
  /** The longest wait while there is no key set at all: requests are being refused. */
  readonly maxRetryWithout: Duration;
  /** The longest wait while an older copy is in force. */
  readonly maxRetryWith: Duration;
}

export const DEFAULT_FETCH_POLICY: FetchPolicy = {
  refresh: seconds(20 * 60),
  retry: milliseconds(500),
  maxRetryWithout: seconds(15),
  maxRetryWith: seconds(5 * 60),
};

export interface FetchHistory {
  /** Failures since the last success. */
  readonly failures: number;
  readonly hasKeys: boolean;
}

/** The delay before the next fetch, spread by `random` (0 to 1) so that many instances do not ask at the same moment. */
export function nextFetchDelay(history: FetchHistory, policy: FetchPolicy, random: number): Duration {
  if (history.failures === 0) return milliseconds(policy.refresh * (0.9 + 0.2 * random));
  const longest = history.hasKeys ? policy.maxRetryWith : policy.maxRetryWithout;
  const backoff = Math.min(policy.retry * 2 ** Math.min(history.failures - 1, 30), longest);
  return milliseconds(backoff * (0.5 + 0.5 * random));
}
