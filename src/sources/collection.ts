import type { Logger } from '../io/log/logger.ts';
import { MeshError, type Parsed, type Problem } from '../lib/errors.ts';
import { describeObject, type KubeObject, type ResourceKind } from '../model/object.ts';
import type { ObjectStore, WatchEvent } from './store/object-store.ts';

/** The objects of one kind, parsed, as they are in a store right now. */
export interface Collection<T> {
  /** Sorted by namespace and name. An object that did not change keeps the identity of its parsed value. */
  values(): readonly T[];
  /** What is wrong with objects that were refused; a refused change leaves the last good value in force. */
  problems(): readonly Problem[];
  /** Resolves when the store has been listed once. */
  readonly synced: Promise<void>;
}

export interface CollectionOptions<T> {
  readonly store: ObjectStore;
  readonly kind: ResourceKind;
  readonly namespace?: string;
  /** Saves others being sent; the parser may see them all the same. */
  readonly fieldSelector?: string;
  /** All that the parser reads of an object, which saves the rest being held. */
  readonly reduce?: (object: KubeObject) => KubeObject;
  readonly parse: (object: KubeObject) => Parsed<T>;
  /** Runs after every change of a value. */
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

interface Entry<T> {
  readonly resourceVersion: string | undefined;
  readonly value: T | undefined;
  readonly problems: readonly Problem[];
}

const keyOf = (object: KubeObject): string => `${object.metadata.namespace ?? ''}/${object.metadata.name}`;

/** Follows one kind of a store until the signal is aborted; each object is parsed once per version. */
export function followKind<T>(options: CollectionOptions<T>): Collection<T> {
  const { store, kind, parse, logger, onChange, signal } = options;
  const entries = new Map<string, Entry<T>>();
  let sorted: readonly T[] | undefined = [];
  const { promise: synced, resolve: markSynced, reject: failSync } = Promise.withResolvers<void>();
  synced.catch(() => {});

  function changed(): void {
    sorted = undefined;
    onChange();
  }

  function put(object: KubeObject): boolean {
    const key = keyOf(object);
    const previous = entries.get(key);
    const { resourceVersion } = object.metadata;
    if (previous !== undefined && resourceVersion !== undefined && previous.resourceVersion === resourceVersion) return false;
    const parsed = parse(object);
    if (parsed.ok) {
      entries.set(key, { resourceVersion, value: parsed.value, problems: [] });
      return true;
    }
    const problems = parsed.problems.map((problem) => ({ ...problem, path: `${describeObject(object)}: ${problem.path}` }));
    entries.set(key, { resourceVersion, value: previous?.value, problems });
    for (const problem of problems) {
      logger.warn('object refused; its last good content stays in force', {
        object: describeObject(object),
        problem: problem.message,
        path: problem.path,
      });
    }
    return false;
  }

  function replaceAll(objects: readonly KubeObject[]): boolean {
    const seen = new Set(objects.map(keyOf));
    const gone = [...entries.keys()].filter((key) => !seen.has(key));
    for (const key of gone) entries.delete(key);
    return objects.map(put).includes(true) || gone.length > 0;
  }

  function applyEvent(event: WatchEvent): boolean {
    switch (event.type) {
      case 'listed':
        return replaceAll(event.objects);
      case 'added':
      case 'modified':
        return put(event.object);
      case 'deleted':
        return entries.delete(keyOf(event.object));
    }
  }

  async function follow(): Promise<void> {
    const { namespace, fieldSelector, reduce } = options;
    const scope = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(reduce === undefined ? {} : { reduce }),
    };
    for await (const event of store.watch(kind, { ...scope, signal })) {
      if (applyEvent(event)) changed();
      if (event.type === 'listed') markSynced();
    }
    failSync(new MeshError('cancelled', `watching ${kind.plural} ended before it had begun`));
  }

  follow().catch((error: unknown) => {
    failSync(MeshError.from(error));
    if (!signal.aborted) logger.error('watch failed', { kind: kind.kind, error: MeshError.from(error).message });
  });

  return {
    values() {
      sorted ??= [...entries]
        .filter(([, entry]) => entry.value !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, entry]) => entry.value as T);
      return sorted;
    },
    problems: () => [...entries.values()].flatMap((entry) => entry.problems),
    synced,
  };
}
