/** What an authority hands out by itself: its roots to every namespace, and on Kubernetes a key and certificate to every service account. */
import { setTimeout } from 'node:timers/promises';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import { kindsFor } from '../model/kinds.ts';
import type { OpenedStore } from '../sources/store/open.ts';
import { rootPem } from './authority.ts';
import type { CaConfig } from './config.ts';
import { followDnsNames, NO_DNS_NAMES } from './follow-dns-names.ts';
import { keepSecrets, type SecretKeeper } from './keep-secrets.ts';
import type { Leadership } from './leadership.ts';
import type { AuthorityHolder } from './live-authority.ts';
import { followNamespaces } from './publish-root.ts';
import type { Settings } from './settings.ts';
import { newSerial } from './source.ts';
import type { Spread } from './spread.ts';

export interface DistributionOptions {
  readonly config: CaConfig;
  readonly store: OpenedStore;
  readonly host: Host;
  readonly authority: AuthorityHolder;
  readonly settings: Settings;
  readonly leadership: Leadership;
  /** Is told who waits for roots. */
  readonly spread: Spread;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Distribution {
  /** Looks whether everybody has what is theirs; call it from time to time. */
  check(): Promise<void>;
}

/** Begins to hand out, and goes on with every change, while this replica leads. */
export function distribute(options: DistributionOptions): Distribution {
  const { config, store, host, authority, settings, leadership, spread, logger, signal } = options;
  const kinds = kindsFor(host.names);
  const common = {
    store,
    kinds,
    leadership,
    random: Math.random,
    sleep: (time: number, abort: AbortSignal) => setTimeout<void>(time, undefined, { signal: abort }),
    logger,
    signal,
  };
  const publisher = followNamespaces({
    ...common,
    rootPem: () => rootPem(authority.current()),
    only: config.listenedNamespace,
  });
  spread.add(() => publisher.missing());
  const dnsNames = config.appendDnsNames
    ? followDnsNames({ ...common, only: config.listenedNamespace, onChange: (namespace) => secrets?.recheck(namespace) })
    : NO_DNS_NAMES;
  const secrets: SecretKeeper | undefined =
    store.client === undefined
      ? undefined
      : keepSecrets({
          ...common,
          type: host.names.keyAndCertType,
          namespace: config.listenedNamespace,
          authority,
          trustDomain: settings.trustDomain,
          dnsNames,
          keyType: config.keyType,
          limits: config.limits,
          grace: config.grace,
          now: host.now,
          newSerial,
        });
  if (secrets !== undefined) spread.add(() => secrets.missing());
  const check = async (): Promise<void> => {
    await Promise.all([publisher.publish(), secrets?.check()]);
  };
  authority.onChange(() => void check());
  return { check };
}
