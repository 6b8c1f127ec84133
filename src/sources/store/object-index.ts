import type { KubeObject, ObjectRef, ResourceKind } from '../../model/object.ts';
import type { KindedObject } from '../../model/parse/object.ts';
import type { WatchEvent, WatchOptions } from './object-store.ts';
import { keyOf } from './stored-object.ts';
import { WatchQueue } from './watch-queue.ts';

interface Watcher {
  readonly kind: ResourceKind;
  readonly namespace: string | undefined;
  readonly queue: WatchQueue;
}

/** The objects of a store in memory, and those who want to hear of changes. */
export class ObjectIndex {
  #objects = new Map<string, KindedObject>();
  readonly #watchers = new Set<Watcher>();

  get(ref: ObjectRef): KubeObject | undefined {
    return this.#objects.get(keyOf(ref.kind, ref))?.object;
  }

  /** Sorted by namespace and name. */
  list(kind: ResourceKind, namespace?: string): readonly KubeObject[] {
    const found: KubeObject[] = [];
    for (const entry of this.#objects.values()) if (isWanted(entry, kind, namespace)) found.push(entry.object);
    return found.sort(byNamespaceAndName);
  }

  /** Stores or, with `undefined`, removes one object. */
  set(
    kind: ResourceKind,
    metadata: { readonly namespace?: string; readonly name: string },
    object: KubeObject | undefined,
  ): void {
    const key = keyOf(kind, metadata);
    const before = this.#objects.get(key);
    if (object !== undefined) {
      this.#objects.set(key, { kind, object });
      this.#notify(key, { kind, object }, before === undefined ? 'added' : 'modified');
    } else if (before !== undefined) {
      this.#objects.delete(key);
      this.#notify(key, before, 'deleted');
    }
  }

  /** Puts a new set of objects in force, by their keys, and tells the watchers what has another version. */
  replaceAll(next: Map<string, KindedObject>): void {
    const before = this.#objects;
    this.#objects = next;
    if (this.#watchers.size === 0) return;
    for (const [key, entry] of before) if (!next.has(key)) this.#notify(key, entry, 'deleted');
    for (const [key, entry] of next) {
      const old = before.get(key);
      if (old === undefined) this.#notify(key, entry, 'added');
      else if (old.object !== entry.object && old.object.metadata.resourceVersion !== entry.object.metadata.resourceVersion) {
        this.#notify(key, entry, 'modified');
      }
    }
  }

  #notify(key: string, entry: KindedObject, type: 'added' | 'modified' | 'deleted'): void {
    for (const watcher of this.#watchers) {
      if (isWanted(entry, watcher.kind, watcher.namespace)) watcher.queue.push(key, { type, object: entry.object });
    }
  }

  async *watch(kind: ResourceKind, { namespace, signal }: WatchOptions): AsyncGenerator<WatchEvent, void, undefined> {
    if (signal.aborted) return;
    const watcher: Watcher = { kind, namespace, queue: new WatchQueue() };
    const end = (): void => watcher.queue.end();
    signal.addEventListener('abort', end, { once: true });
    this.#watchers.add(watcher);
    watcher.queue.relist(this.list(kind, namespace));
    try {
      yield* watcher.queue.drain();
    } finally {
      signal.removeEventListener('abort', end);
      this.#watchers.delete(watcher);
    }
  }

  /** Ends every watch. */
  close(): void {
    for (const watcher of this.#watchers) watcher.queue.end();
  }
}

function isWanted(entry: KindedObject, kind: ResourceKind, namespace: string | undefined): boolean {
  if (entry.kind.kind !== kind.kind || entry.kind.apiVersion !== kind.apiVersion) return false;
  return namespace === undefined || !kind.namespaced || entry.object.metadata.namespace === namespace;
}

/** The order of lists. */
export function byNamespaceAndName(a: KubeObject, b: KubeObject): number {
  return compare(a.metadata.namespace ?? '', b.metadata.namespace ?? '') || compare(a.metadata.name, b.metadata.name);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
