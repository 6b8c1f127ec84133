/** Which DNS names service accounts are called by as webhooks (--append-dns-names); follows pods and services only where there are any. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../io/log/logger.ts';
import type { Kinds } from '../model/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import type { AccountRef } from './account-secret.ts';
import { type Followed, followEach } from './follow-each.ts';
import {
  namesByAccount,
  type PodIdentity,
  podIdentity,
  type ServiceName,
  selectorOf,
  webhookServices,
} from './webhook-services.ts';

export interface DnsNamesOptions {
  readonly store: ObjectStore;
  readonly kinds: Kinds;
  /** This namespace and no other; undefined: every one. */
  readonly only: string | undefined;
  /** Runs when accounts of a namespace are called by other names than before. */
  readonly onChange: (namespace: string) => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface DnsNames {
  /** Sorted; empty for an account that serves no webhook. */
  namesOf(account: AccountRef): readonly string[];
  /** Resolves when everything has been listed once. */
  readonly synced: Promise<void>;
}

/** No names at all. */
export const NO_DNS_NAMES: DnsNames = { namesOf: () => [], synced: Promise.resolve() };

export function followDnsNames(options: DnsNamesOptions): DnsNames {
  return new Follower(options);
}

interface NamespaceNames {
  readonly services: Followed<Readonly<Record<string, unknown>>>;
  readonly pods: Followed<PodIdentity>;
  readonly stop: AbortController;
  names: ReadonlyMap<string, readonly string[]>;
}

class Follower implements DnsNames {
  readonly synced: Promise<void>;
  readonly #options: DnsNamesOptions;
  readonly #configurations: readonly Followed<readonly ServiceName[]>[];
  readonly #namespaces = new Map<string, NamespaceNames>();

  constructor(options: DnsNamesOptions) {
    this.#options = options;
    const { store, kinds, logger, signal } = options;
    const of = [kinds.mutatingWebhookConfiguration, kinds.validatingWebhookConfiguration];
    this.#configurations = of.map((kind) =>
      followEach({
        store,
        kind,
        watch: { signal },
        keyOf: ({ metadata }) => metadata.name,
        parse: webhookServices,
        onChange: () => this.#follow(),
        logger,
      }),
    );
    this.synced = this.#sync();
    this.synced.catch(() => {});
  }

  namesOf({ namespace, name }: AccountRef): readonly string[] {
    return this.#namespaces.get(namespace)?.names.get(name) ?? [];
  }

  async #sync(): Promise<void> {
    await Promise.all(this.#configurations.map(({ synced }) => synced));
    await Promise.all([...this.#namespaces.values()].flatMap(({ services, pods }) => [services.synced, pods.synced]));
    for (const namespace of this.#namespaces.keys()) this.#update(namespace);
  }

  /** Follows just those namespaces that have a webhook's service. */
  #follow(): void {
    const { only } = this.#options;
    const wanted = new Set(this.#services().map(({ namespace }) => namespace));
    for (const [namespace, { stop }] of this.#namespaces) {
      if (wanted.has(namespace)) continue;
      stop.abort();
      this.#namespaces.delete(namespace);
    }
    for (const namespace of wanted) {
      if (only !== undefined && only !== namespace) continue;
      if (this.#namespaces.has(namespace)) this.#update(namespace);
      else this.#namespaces.set(namespace, this.#begin(namespace));
    }
  }

  #services(): readonly ServiceName[] {
    return this.#configurations.flatMap(({ entries }) => [...entries.values()].flat());
  }

  #begin(namespace: string): NamespaceNames {
    const { store, kinds, logger, signal } = this.#options;
    const stop = new AbortController();
    const common = {
      store,
      watch: { namespace, signal: AbortSignal.any([signal, stop.signal]) },
      keyOf: ({ metadata }: { readonly metadata: { readonly name: string } }) => metadata.name,
      onChange: () => this.#update(namespace),
      logger,
    };
    return {
      services: followEach({ ...common, kind: kinds.service, parse: selectorOf }),
      pods: followEach({ ...common, kind: kinds.pod, parse: podIdentity }),
      stop,
      names: new Map(),
    };
  }

  #update(namespace: string): void {
    const followed = this.#namespaces.get(namespace);
    if (followed === undefined) return;
    const webhooks = this.#services().filter((service) => service.namespace === namespace);
    const selectors = new Map(
      webhooks.flatMap(({ name }) => {
        const selector = followed.services.entries.get(name);
        return selector === undefined ? [] : [[name, selector] as const];
      }),
    );
    const names = namesByAccount(namespace, selectors, followed.pods.entries.values());
    if (isDeepStrictEqual(names, followed.names)) return;
    followed.names = names;
    this.#options.onChange(namespace);
  }
}
