/** Secrets with kubeconfigs, each followed by its name alone, so that the right to read those few suffices. */
import type { Logger } from '../../io/log/logger.ts';
import type { Parsed } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import { Redacted } from '../../lib/redacted.ts';
import type { RegisteredCluster } from '../../model/cluster-registry.ts';
import { kindsFor } from '../../model/kinds.ts';
import type { KubeObject } from '../../model/object.ts';
import { isMapping } from '../../model/parse/object.ts';
import { type Collection, followKind } from '../collection.ts';
import type { ObjectStore } from '../store/object-store.ts';

export type Kubeconfig =
  | { readonly type: 'found'; readonly text: Redacted }
  /** The secret has not been looked for yet. */
  | { readonly type: 'pending' }
  | { readonly type: 'missing'; readonly message: string };

export interface KubeconfigSecrets {
  kubeconfigOf(cluster: RegisteredCluster): Kubeconfig;
  /** Stops following secrets that none of these clusters needs. */
  keep(clusters: readonly RegisteredCluster[]): void;
}

export interface KubeconfigSecretsOptions {
  readonly store: ObjectStore;
  readonly names: Names;
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

type Content = ReadonlyMap<string, Redacted>;

interface Followed {
  readonly secrets: Collection<Content | undefined>;
  readonly stop: AbortController;
  listed: boolean;
}

export function followKubeconfigSecrets(options: KubeconfigSecretsOptions): KubeconfigSecrets {
  const { onChange, signal } = options;
  const followed = new Map<string, Followed>();

  const follow = ({ namespace, name }: RegisteredCluster['secret']): Followed => {
    const stop = new AbortController();
    const secrets = followKind<Content | undefined>({
      ...options,
      kind: kindsFor(options.names).secret,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      parse: (object) =>
        ({ ok: true, value: object.metadata.name === name ? contentOf(object) : undefined }) satisfies Parsed<unknown>,
      signal: AbortSignal.any([signal, stop.signal]),
    });
    const entry: Followed = { secrets, stop, listed: false };
    const listed = (): void => {
      entry.listed = true;
      onChange();
    };
    secrets.synced.then(listed, () => {});
    return entry;
  };

  return {
    kubeconfigOf({ secret, keys }) {
      const id = describe(secret);
      const entry = followed.get(id) ?? follow(secret);
      followed.set(id, entry);
      if (!entry.listed) return { type: 'pending' };
      const content = entry.secrets.values().find((value) => value !== undefined);
      if (content === undefined)
        return { type: 'missing', message: `Secret ${id}, which is to hold its kubeconfig, does not exist` };
      const text = keys.map((key) => content.get(key)).find((found) => found !== undefined) ?? onlyOne(content);
      return text === undefined
        ? { type: 'missing', message: `Secret ${id} has no key ${keys.join(' or ')} with its kubeconfig` }
        : { type: 'found', text };
    },
    keep(clusters) {
      const needed = new Set(clusters.map(({ secret }) => describe(secret)));
      for (const [id, { stop }] of followed) {
        if (needed.has(id)) continue;
        stop.abort();
        followed.delete(id);
      }
    },
  };
}

const describe = ({ namespace, name }: RegisteredCluster['secret']): string => `${namespace}/${name}`;

const onlyOne = (content: Content): Redacted | undefined => (content.size === 1 ? [...content.values()][0] : undefined);

/** `data` is base64; `stringData` is what people write, and what a directory of manifests may hold. */
function contentOf({ data, stringData }: KubeObject): Content {
  const texts = (value: unknown): readonly (readonly [string, string])[] =>
    isMapping(value)
      ? Object.entries(value).flatMap(([key, text]) => (typeof text === 'string' ? [[key, text] as const] : []))
      : [];
  return new Map([
    ...texts(data).map(([key, text]) => [key, new Redacted(Buffer.from(text, 'base64').toString('utf8'))] as const),
    ...texts(stringData).map(([key, text]) => [key, new Redacted(text)] as const),
  ]);
}
