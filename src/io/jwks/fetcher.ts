/** Keeps the key sets of a changing set of locations: fetched, refreshed, and the last good copy when a fetch fails. */
import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Fetch } from './fetch-document.ts';
import { DEFAULT_FETCH_POLICY, type FetchPolicy, nextFetchDelay } from './schedule.ts';
import { DEFAULT_JWKS_LIMITS, fetchJwks, type JwksLimits, type JwksLocation, jwksLocationKey } from './source.ts';

/** Time, so that tests can turn the clock themselves. */
export interface FetchClock {
  /** Milliseconds, never going back. */
  now(): number;
  /** Runs something later; the result cancels it. */
  after(delay: Duration, run: () => void): () => void;
}

export const systemFetchClock: FetchClock = {
  now: () => performance.now(),
  after: (delay, run) => {
    const timer = setTimeout(run, delay);
    return () => clearTimeout(timer);
  },
};

export interface JwksFetcherOptions {
  readonly fetch: Fetch;
  readonly clock: FetchClock;
  /** 0 to 1. */
  readonly random: () => number;
  readonly logger: Logger;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Runs after a key set came, changed or went; the map is that of `keySets`. */
  readonly onChange: (keySets: ReadonlyMap<string, string>) => void;
  /** Runs after every fetch, with the jwksLocationKey, and the key set unless it failed. */
  readonly onFetch?: (success: boolean, location: string, jwks: string | undefined) => void;
  readonly policy?: FetchPolicy;
  readonly limits?: JwksLimits;
}

export interface JwksFetcher {
  /** The locations that are needed from now on. Those that are new are fetched at once. */
  setSources(locations: readonly JwksLocation[]): void;
  /** Checked key sets of public keys as JSON text, by jwksLocationKey; a location never fetched is missing. Sorted by key. */
  keySets(): ReadonlyMap<string, string>;
  /** How many of the locations that are needed have been fetched neither with success nor without. */
  untried(): number;
}

interface Source {
  readonly location: JwksLocation;
  tried: boolean;
  jwks: string | undefined;
  failures: number;
  /** When it was last fetched with success, by the clock. */
  fetchedAt: number;
  state:
    | { readonly type: 'waiting'; readonly cancel: () => void }
    | { readonly type: 'fetching' }
    | { readonly type: 'unused'; readonly since: number };
}

/** A location that nobody needs any more keeps its copy this long, so that a policy deleted and made again works at once. */
const KEEP_UNUSED: Duration = seconds(7 * 24 * 3600);
const MAX_UNUSED = 1_000;
const MAX_FETCHES_AT_ONCE = 16;
const AT_ONCE = milliseconds(0);

export function createJwksFetcher(options: JwksFetcherOptions): JwksFetcher {
  const { clock, logger, signal } = options;
  const policy = options.policy ?? DEFAULT_FETCH_POLICY;
  const limits = options.limits ?? DEFAULT_JWKS_LIMITS;
  const sources = new Map<string, Source>();
  const queue: Source[] = [];
  let fetching = 0;
  signal.addEventListener('abort', () => [...sources.values()].forEach(stopTimer), { once: true });

  function schedule(source: Source, delay: Duration): void {
    if (signal.aborted) return;
    const cancel = clock.after(delay, () => {
      source.state = { type: 'fetching' };
      queue.push(source);
      drain();
    });
    source.state = { type: 'waiting', cancel };
  }

  function drain(): void {
    while (fetching < MAX_FETCHES_AT_ONCE && !signal.aborted) {
      const source = queue.shift();
      if (source === undefined) return;
      fetching += 1;
      void refresh(source).finally(() => {
        fetching -= 1;
        drain();
      });
    }
  }

  async function refresh(source: Source): Promise<void> {
    const key = jwksLocationKey(source.location);
    const before = source.jwks;
    const outcome = await fetchJwks(source.location, options.fetch, limits, signal).catch((error) => MeshError.from(error));
    if (signal.aborted) return;
    source.tried = true;
    options.onFetch?.(typeof outcome === 'string', key, typeof outcome === 'string' ? outcome : undefined);
    if (typeof outcome === 'string') {
      Object.assign(source, { jwks: outcome, failures: 0, fetchedAt: clock.now() });
    } else {
      source.failures += 1;
      const consequence =
        before === undefined ? 'no token of it is accepted until a fetch succeeds' : 'its last good copy stays in force';
      logger.warn('key set cannot be fetched', {
        location: key,
        failures: source.failures,
        reason: outcome.message,
        consequence,
      });
    }
    // Meanwhile it may have gone out of use, and even come back, which set a timer of its own.
    if (source.state.type === 'fetching') {
      const history = { failures: source.failures, hasKeys: source.jwks !== undefined };
      schedule(source, nextFetchDelay(history, policy, options.random()));
    }
    if (source.jwks !== before && source.state.type !== 'unused') options.onChange(keySets());
  }

  function use(location: JwksLocation): void {
    const key = jwksLocationKey(location);
    const source = sources.get(key);
    if (source === undefined) {
      const fresh: Source = {
        location,
        tried: false,
        jwks: undefined,
        failures: 0,
        fetchedAt: 0,
        state: { type: 'unused', since: clock.now() },
      };
      sources.set(key, fresh);
      schedule(fresh, AT_ONCE);
    } else if (source.state.type === 'unused') {
      const age = clock.now() - source.fetchedAt;
      schedule(source, source.jwks === undefined ? AT_ONCE : milliseconds(Math.max(0, policy.refresh - age)));
    }
  }

  function evict(): void {
    const unused = [...sources].flatMap(([key, { state }]) => (state.type === 'unused' ? [{ key, since: state.since }] : []));
    const newestFirst = unused.sort((left, right) => right.since - left.since);
    for (const [index, { key, since }] of newestFirst.entries()) {
      if (index >= MAX_UNUSED || clock.now() - since > KEEP_UNUSED) sources.delete(key);
    }
  }

  function keySets(): ReadonlyMap<string, string> {
    const held = [...sources].flatMap(([key, { jwks, state }]): readonly (readonly [string, string])[] =>
      jwks === undefined || state.type === 'unused' ? [] : [[key, jwks]],
    );
    return new Map(held.sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  function setSources(locations: readonly JwksLocation[]): void {
    if (signal.aborted) return;
    const before = keySets();
    const needed = new Map(locations.map((location) => [jwksLocationKey(location), location]));
    for (const [key, source] of sources) {
      if (needed.has(key) || source.state.type === 'unused') continue;
      stopTimer(source);
      source.state = { type: 'unused', since: clock.now() };
    }
    for (const location of needed.values()) use(location);
    evict();
    const after = keySets();
    if (before.size !== after.size || [...after].some(([key, jwks]) => before.get(key) !== jwks)) options.onChange(after);
  }

  const untried = (): number => [...sources.values()].filter(({ tried, state }) => !tried && state.type !== 'unused').length;

  return { setSources, keySets, untried };
}

function stopTimer(source: Source): void {
  if (source.state.type === 'waiting') source.state.cancel();
}
