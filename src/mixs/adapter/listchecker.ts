import { MeshError } from '../../lib/errors.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';
import type { ListCheckerParams } from '../../rules/adapter/listchecker.ts';
import type { AdapterEnvironment, CheckResult, Handler } from './adapter.ts';
import { buildList, type List } from './list.ts';
import { fetchList } from './list-source.ts';

/** Admits what is in a list, or what is not. */
export function openListChecker(params: ListCheckerParams, environment: AdapterEnvironment): Handler {
  const { provider, overrides, entryType, blacklist } = params;
  const fixed = buildList(entryType, overrides);
  const source = provider === undefined ? undefined : new FollowedList(params, provider, environment);
  const answer = (code: number, message: string): CheckResult => ({
    status: { code, message },
    validMs: params.cachingInterval,
    validUses: params.cachingUseCount,
  });

  const decide = (value: string, has: boolean): CheckResult => {
    if (has !== blacklist) return answer(RPC_CODES.OK, '');
    return blacklist
      ? answer(RPC_CODES.PERMISSION_DENIED, `${value} is blacklisted`)
      : answer(RPC_CODES.NOT_FOUND, `${value} is not whitelisted`);
  };

  return {
    check: ({ template, values }) => {
      if (template !== 'listentry') return answer(RPC_CODES.INTERNAL, `there is nothing to look up in ${template}`);
      const { value } = values;
      if (source === undefined || fixed.has(value)) return decide(value, fixed.has(value));
      const list = source.current();
      // A list that nobody could read admits nobody: it may be of those to be refused.
      if (list === undefined) {
        return {
          status: { code: RPC_CODES.UNAVAILABLE, message: `the list at ${source.url} cannot be read` },
          validMs: 0,
          validUses: 0,
        };
      }
      return decide(value, list.has(value));
    },
    close: async () => {},
  };
}

/** The entries behind a URL: read at once and regularly; what was read last serves as long as it may. */
class FollowedList {
  readonly url: string;
  readonly #ttl: number;
  readonly #elapsed: () => number;
  #list: { readonly list: List; readonly readAt: number } | undefined;

  constructor(
    { entryType }: ListCheckerParams,
    { url, refreshInterval, ttl }: NonNullable<ListCheckerParams['provider']>,
    { handler, logger, elapsed, random, signal }: AdapterEnvironment,
  ) {
    this.url = url;
    this.#ttl = ttl;
    this.#elapsed = elapsed;
    let failures = 0;
    const read = async (): Promise<void> => {
      try {
        const entries = await fetchList(url, signal);
        this.#list = { list: buildList(entryType, entries), readAt: elapsed() };
        if (failures > 0) logger.info('the list is read again', { handler, url });
        failures = 0;
      } catch (thrown) {
        if (signal.aborted) return;
        failures++;
        logger.warn('the list cannot be read', {
          handler,
          url,
          reason: MeshError.from(thrown).message,
          inForce: this.current() ? 'last good' : 'none',
        });
      }
      if (signal.aborted) return;
      // Tried again soon at first, and never by all replicas at once.
      const wait =
        failures === 0 ? refreshInterval : Math.min(refreshInterval, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, MAX_DOUBLINGS));
      const timer = setTimeout(() => void read(), wait * (1 + SPREAD * random()));
      signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    };
    void read();
  }

  current(): List | undefined {
    if (this.#list === undefined || this.#elapsed() - this.#list.readAt > this.#ttl) return undefined;
    return this.#list.list;
  }
}

const FIRST_RETRY_MS = 500;
const MAX_DOUBLINGS = 6;
const SPREAD = 0.1;
