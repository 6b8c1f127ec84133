/** What the authority follows while it runs: the trust domain and the trusted token issuers. */

import type { JwksFetcher } from '../io/jwks/fetcher.ts';
import type { TrustedIssuer } from '../io/jwks/verify-token.ts';
import type { Logger } from '../io/log/logger.ts';
import { formatProblem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { kindsFor } from '../model/kinds.ts';
import { followKind } from '../sources/collection.ts';
import { followMeshConfigMap } from '../sources/mesh-configuration.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import {
  NO_ISSUERS,
  parseTokenIssuers,
  remoteLocations,
  TOKEN_ISSUERS_CONFIG_MAP,
  type TokenIssuers,
  withKeys,
} from './token-issuers.ts';

export interface Settings {
  trustDomain(): string;
  /** With the keys that are known now. */
  issuers(): readonly TrustedIssuer[];
  /** Resolves when both ConfigMaps have been looked for once. */
  readonly synced: Promise<void>;
}

export interface SettingsOptions {
  readonly store: ObjectStore;
  /** Of the ConfigMaps `mesh` and `mesh-token-issuers`. */
  readonly namespace: string;
  readonly names: Names;
  readonly keySets: JwksFetcher;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export function followSettings(options: SettingsOptions): Settings {
  const { logger, keySets } = options;
  let applied: TokenIssuers = NO_ISSUERS;

  const apply = (): void => {
    const current = issuerMaps.values().find((issuers) => issuers !== NO_ISSUERS) ?? NO_ISSUERS;
    if (current === applied) return;
    applied = current;
    keySets.setSources(remoteLocations(current.issuers));
    logger.info('trusted token issuers', { issuers: current.issuers.map(({ issuer }) => issuer) });
    for (const problem of current.problems) {
      logger.error('token issuer refused', { configMap: TOKEN_ISSUERS_CONFIG_MAP, problem: formatProblem(problem) });
    }
  };
  const mesh = followMeshConfigMap({ ...options, onChange: () => {} });
  const issuerMaps = followKind<TokenIssuers>({
    ...options,
    kind: kindsFor(options.names).configMap,
    parse: (object) => ({
      ok: true,
      value: object.metadata.name === TOKEN_ISSUERS_CONFIG_MAP ? parseTokenIssuers(object) : NO_ISSUERS,
    }),
    onChange: () => apply(),
  });

  return {
    trustDomain: () => mesh.value().trustDomain,
    issuers: () => withKeys(applied.issuers, keySets.keySets()),
    synced: Promise.all([mesh.synced, issuerMaps.synced]).then(() => undefined),
  };
}
