import { MeshError } from '../../lib/errors.ts';
import type { Kinds } from '../../model/kinds.ts';
import { describeRef, type KubeObject, type ObjectRef, type ResourceKind } from '../../model/object.ts';
import { ObjectIndex } from './object-index.ts';
import type { ObjectStore, WatchEvent, WatchOptions } from './object-store.ts';
import { admit, refOf, stampNew, stampReplacement, type ValidateObject } from './stored-object.ts';

export interface MemoryStoreOptions {
  readonly kinds: Kinds;
  readonly now: () => Date;
  /** Makes the uid of a new object. */
  readonly newUid: () => string;
  readonly validate?: ValidateObject;
}

/** A store whose objects live as long as the process; for tests. */
export class MemoryStore implements ObjectStore {
  readonly #options: MemoryStoreOptions;
  readonly #index = new ObjectIndex();

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
  }

  async list(kind: ResourceKind, namespace?: string): Promise<readonly KubeObject[]> {
    return this.#index.list(kind, namespace);
  }

  async get(ref: ObjectRef): Promise<KubeObject> {
    return this.#require(ref);
  }

  async create(object: KubeObject): Promise<KubeObject> {
    const admitted = admit(object, this.#options.kinds, this.#options.validate);
    const ref = refOf(admitted);
    if (this.#index.get(ref) !== undefined) throw new MeshError('already_exists', `${describeRef(ref)} already exists`);
    const stored = stampNew(admitted.object, this.#options.newUid(), this.#options.now());
    this.#index.set(admitted.kind, stored.metadata, stored);
    return stored;
  }

  async replace(object: KubeObject): Promise<KubeObject> {
    const admitted = admit(object, this.#options.kinds, this.#options.validate);
    const before = this.#require(refOf(admitted));
    const stored = stampReplacement(admitted.object, before);
    if (stored.metadata.resourceVersion === before.metadata.resourceVersion) return before;
    this.#index.set(admitted.kind, stored.metadata, stored);
    return stored;
  }

  async delete(ref: ObjectRef): Promise<void> {
    this.#require(ref);
    this.#index.set(ref.kind, ref, undefined);
  }

  watch(kind: ResourceKind, options: WatchOptions): AsyncIterable<WatchEvent> {
    return this.#index.watch(kind, options);
  }

  async close(): Promise<void> {
    this.#index.close();
  }

  #require(ref: ObjectRef): KubeObject {
    const found = this.#index.get(ref);
    if (found === undefined) throw new MeshError('not_found', `${describeRef(ref)} does not exist`);
    return found;
  }
}
