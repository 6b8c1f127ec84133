import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import type { Kinds } from '../model/kinds.ts';
import type { KubeObject, ObjectRef } from '../model/object.ts';
import { type Collection, followKind } from '../sources/collection.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';

const FOLLOWED = ['namespace', 'serviceAccount', 'configMap', 'secret', 'service', 'endpointSlice', 'deployment', 'pod'] as const;

/** Those that the node of a real cluster needs: the cluster's own controllers look at the others. */
export const NODE_KINDS: readonly FollowedKind[] = ['configMap', 'secret', 'service', 'endpointSlice', 'pod'];

export type FollowedKind = (typeof FOLLOWED)[number];

export interface ClusterOptions {
  readonly store: ObjectStore;
  readonly kinds: Kinds;
  /** Default: all. */
  readonly followed?: readonly FollowedKind[];
  readonly onChange: (kind: FollowedKind) => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** The objects of the lab as they are right now, and how its controllers write them. */
export class Cluster {
  readonly store: ObjectStore;
  readonly kinds: Kinds;
  readonly synced: Promise<void>;
  readonly #collections: ReadonlyMap<FollowedKind, Collection<KubeObject>>;

  constructor({ store, kinds, followed = FOLLOWED, onChange, logger, signal }: ClusterOptions) {
    this.store = store;
    this.kinds = kinds;
    this.#collections = new Map(
      followed.map((name) => {
        const parse = (value: KubeObject) => ({ ok: true, value }) as const;
        return [name, followKind({ store, kind: kinds[name], parse, onChange: () => onChange(name), logger, signal })];
      }),
    );
    this.synced = Promise.all([...this.#collections.values()].map(({ synced }) => synced)).then(() => {});
  }

  list(kind: FollowedKind): readonly KubeObject[] {
    return this.#collections.get(kind)?.values() ?? [];
  }

  find(kind: FollowedKind, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.list(kind).find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  }

  /** Creates an object, or replaces the one there is; what is equal already is not written. */
  async put(kind: FollowedKind, object: KubeObject): Promise<void> {
    const existing = this.find(kind, object.metadata.namespace, object.metadata.name);
    if (existing !== undefined) await this.replace(object);
    else await this.create(object);
  }

  /** Creates an object unless somebody else was first. */
  async create(object: KubeObject): Promise<void> {
    await this.store.create(object).catch(unless('already_exists'));
  }

  /** Replaces an object unless it is gone. */
  async replace(object: KubeObject): Promise<void> {
    await this.store.replace(object).catch(unless('not_found'));
  }

  /** Deletes an object unless it is gone. */
  async delete(kind: FollowedKind, object: KubeObject): Promise<void> {
    const { namespace, name } = object.metadata;
    const ref: ObjectRef =
      namespace === undefined ? { kind: this.kinds[kind], name } : { kind: this.kinds[kind], namespace, name };
    await this.store.delete(ref).catch(unless('not_found'));
  }
}

function unless(code: MeshError['code']): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof MeshError) || error.code !== code) throw error;
  };
}
