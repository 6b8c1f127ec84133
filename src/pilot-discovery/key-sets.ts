import { createJwksFetcher, systemFetchClock } from '../io/jwks/fetcher.ts';
import { type JwksLocation, jwksLocationKey } from '../io/jwks/source.ts';
import type { Logger } from '../io/log/logger.ts';
import type { AuthnPolicy, JwksSource } from '../model/authn-policy.ts';
import { jwksKey } from '../model/jwks.ts';
import type { KeySetCache } from './key-set-cache.ts';

/** The key sets that the policies in force need, fetched and refreshed. */
export interface KeySets {
  /** Says which policies there are now; new locations are fetched at once. */
  follow(policies: readonly AuthnPolicy[]): void;
  /** Documents by `jwksKey`; one never fetched is missing. The same map until one of them changes. */
  documents(): ReadonlyMap<string, string>;
  /**
   * Whether something that is followed has been fetched neither with success nor without. A server waits a little while it is so, in order
   * not to close services whose keys it is about to have; `onChange` runs when it is no longer so.
   */
  untried(): boolean;
}

export interface KeySetOptions {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly onChange: () => void;
  readonly onFetch: (success: boolean) => void;
  /** What was known before a restart; it stands in for what was not fetched yet. */
  readonly cache: KeySetCache | undefined;
}

export function createKeySets(options: KeySetOptions): KeySets {
  const { logger, signal, onChange, onFetch, cache } = options;
  let sources: readonly Exclude<JwksSource, { readonly type: 'inline' }>[] = [];
  let documents: ReadonlyMap<string, string> = new Map();
  let waiting = false;

  const collect = (): void => {
    const fetched = fetcher.keySets();
    documents = new Map(
      sources.flatMap((source): [string, string][] => {
        const location = jwksLocationKey(source);
        const document = fetched.get(location) ?? cache?.get(location);
        return document === undefined ? [] : [[jwksKey(source), document]];
      }),
    );
  };
  const fetcher = createJwksFetcher({
    fetch: (url, init) => fetch(url, init),
    clock: systemFetchClock,
    random: Math.random,
    logger,
    signal,
    onFetch: (success, location, jwks) => {
      if (jwks !== undefined) cache?.put(location, jwks);
      onFetch(success);
      if (waiting && fetcher.untried() === 0) {
        waiting = false;
        onChange();
      }
    },
    onChange: () => {
      collect();
      onChange();
    },
  });

  return {
    follow(policies) {
      const needed = policies.flatMap((policy) => policy.origins.map((origin) => origin.jwks));
      const remote = needed.filter((source) => source.type !== 'inline');
      const unique = new Map(remote.map((source) => [jwksKey(source), source]));
      if (unique.size === sources.length && sources.every((source) => unique.has(jwksKey(source)))) return;
      sources = [...unique.values()];
      fetcher.setSources(sources satisfies readonly JwksLocation[]);
      waiting = fetcher.untried() > 0;
      collect();
    },
    documents: () => documents,
    untried: () => waiting,
  };
}
