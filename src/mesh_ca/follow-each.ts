/** The objects of a kind as they are in a store right now, and which of them changed. */
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../model/object.ts';
import type { ObjectStore, WatchEvent, WatchOptions } from '../sources/store/object-store.ts';

export interface FollowEachOptions<T> {
  readonly store: Pick<ObjectStore, 'watch'>;
  readonly kind: ResourceKind;
  readonly watch: WatchOptions;
  /** Under which name something is kept. */
  readonly keyOf: (object: KubeObject) => string;
  /** What is kept of an object; undefined: nothing, as if it were not there. */
  readonly parse: (object: KubeObject) => T | undefined;
  /** Runs after every change of what is kept, for each key. */
  readonly onChange: (key: string) => void;
  readonly logger: Logger;
}

export interface Followed<T> {
  readonly entries: ReadonlyMap<string, T>;
  /** Resolves when the store has been listed once. */
  readonly synced: Promise<void>;
}

/** Follows a kind until the signal is aborted. */
export function followEach<T>({ store, kind, watch, keyOf, parse, onChange, logger }: FollowEachOptions<T>): Followed<T> {
  const entries = new Map<string, T>();
  const versions = new Map<string, string | undefined>();
  const { promise: synced, resolve, reject } = Promise.withResolvers<void>();
  synced.catch(() => {});

  function put(object: KubeObject): void {
    const key = keyOf(object);
    const version = object.metadata.resourceVersion;
    if (version !== undefined && versions.get(key) === version) return;
    const value = parse(object);
    if (value === undefined) return remove(key);
    versions.set(key, version);
    entries.set(key, value);
    onChange(key);
  }

  function remove(key: string): void {
    versions.delete(key);
    if (entries.delete(key)) onChange(key);
  }

  function apply(event: WatchEvent): void {
    if (event.type === 'deleted') return remove(keyOf(event.object));
    if (event.type !== 'listed') return put(event.object);
    const listed = new Set(event.objects.map(keyOf));
    for (const key of [...entries.keys()]) if (!listed.has(key)) remove(key);
    for (const object of event.objects) put(object);
    resolve();
  }

  async function follow(): Promise<void> {
    for await (const event of store.watch(kind, watch)) apply(event);
    reject(new MeshError('cancelled', `watching ${kind.plural} ended before it had begun`));
  }

  follow().catch((thrown: unknown) => {
    const error = MeshError.from(thrown);
    reject(error);
    if (!watch.signal.aborted) logger.error('watch failed', { kind: kind.kind, reason: error.message });
  });
  return { entries, synced };
}
