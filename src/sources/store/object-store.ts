import type { KubeObject, ObjectRef, ResourceKind } from '../../model/object.ts';

/**
 * Where objects live: a directory, a Kubernetes API server, or memory. All implementations pass test/contract/object-store.
 *
 * Errors are MeshErrors: `not_found`, `already_exists`, `conflict` (the given resourceVersion is not the stored one),
 * `invalid`, `unavailable`.
 */
export interface ObjectStore {
  /** All objects of a kind, of one namespace if given, sorted by namespace and name. */
  list(kind: ResourceKind, namespace?: string): Promise<readonly KubeObject[]>;
  get(ref: ObjectRef): Promise<KubeObject>;
  /** Stores a new object and returns it with uid, resourceVersion and creationTimestamp set. */
  create(object: KubeObject): Promise<KubeObject>;
  /**
   * Replaces an existing object. With a metadata.resourceVersion it must be the stored one (`conflict` otherwise); without
   * one the last writer wins. uid and creationTimestamp are kept. Returns the object as stored; an unchanged object is not
   * written and keeps its resourceVersion.
   */
  replace(object: KubeObject): Promise<KubeObject>;
  delete(ref: ObjectRef): Promise<void>;
  /**
   * Yields `listed` with all objects first, then single changes in order, those too that a store has missed and found out later,
   * until the signal is aborted, which ends the iteration without an error. Changes that come while a consumer is slow are
   * folded per object, so that memory is bounded by the number of objects. Of an object that is `deleted` no more than kind,
   * namespace and name are certain.
   */
  watch(kind: ResourceKind, options: WatchOptions): AsyncIterable<WatchEvent>;
  /** Releases watchers and timers. */
  close(): Promise<void>;
}

export interface WatchOptions {
  readonly namespace?: string;
  /**
   * A field selector of Kubernetes, `type=mesh.io/key-and-cert`, that saves the others being sent. A hint: a store may send them
   * all the same.
   */
  readonly fieldSelector?: string;
  /**
   * What the consumer reads of an object, name, namespace and resourceVersion included: a store that receives objects from afar holds
   * nothing else of them. A hint: a store that has them anyway may yield them whole.
   */
  readonly reduce?: (object: KubeObject) => KubeObject;
  readonly signal: AbortSignal;
}

export type WatchEvent =
  | { readonly type: 'listed'; readonly objects: readonly KubeObject[] }
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly object: KubeObject };
