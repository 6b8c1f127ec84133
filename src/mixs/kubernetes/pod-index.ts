/** The pods of the store, by uid and by address: one index for all handlers, followed from when the first of them asks. */
import type { Logger } from '../../io/log/logger.ts';
import type { ResourceKind } from '../../model/object.ts';
import { type Collection, followKind } from '../../sources/collection.ts';
import type { ObjectStore } from '../../sources/store/object-store.ts';
import { type KnownPod, readPod } from './pod.ts';

export interface PodIndexOptions {
  readonly store: ObjectStore;
  /** Pods. */
  readonly kind: ResourceKind;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

interface KnownPods {
  readonly byUid: ReadonlyMap<string, KnownPod>;
  readonly byIp: ReadonlyMap<string, KnownPod>;
}

export class PodIndex {
  readonly #options: PodIndexOptions;
  #pods: Collection<KnownPod> | undefined;
  #known: KnownPods | undefined;

  constructor(options: PodIndexOptions) {
    this.#options = options;
  }

  /** Begins to follow the store, unless that has begun. Until it is listed nothing is known. */
  follow(): void {
    this.#pods ??= followKind({
      ...this.#options,
      parse: (object) => ({ ok: true, value: readPod(object) }),
      onChange: () => {
        this.#known = undefined;
      },
    });
  }

  byUid(uid: string): KnownPod | undefined {
    return this.#index().byUid.get(uid);
  }

  /** `ip` in canonical form. */
  byIp(ip: string): KnownPod | undefined {
    return this.#index().byIp.get(ip);
  }

  #index(): KnownPods {
    if (this.#known === undefined) {
      const pods = this.#pods?.values() ?? [];
      this.#known = {
        byUid: new Map(pods.map((pod) => [pod.output.podUid ?? '', pod])),
        byIp: new Map(pods.flatMap((pod) => pod.ips.map((ip): [string, KnownPod] => [ip, pod]))),
      };
    }
    return this.#known;
  }
}
