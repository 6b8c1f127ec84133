import type { KubeObject, ResourceKind } from '../../../model/object.ts';
import type { WatchEvent } from '../object-store.ts';
import { keyOf } from '../stored-object.ts';
import type { WatchQueue } from '../watch-queue.ts';

/** One list, as it is compared with what is known. */
export interface Comparison {
  /** The next object of the list; `reduce` gives what of it the consumer is told. */
  see(object: KubeObject, reduce: (object: KubeObject) => KubeObject): void;
  /** The list is complete: what it did not have is gone. */
  end(): void;
}

/**
 * What a consumer has been told of a kind: names and versions, and nothing more of each object. By it a list that is made anew tells the
 * consumer what differs alone, object by object, so that of the others nothing is held and nobody looks at them again.
 */
export class KnownObjects {
  readonly #kind: ResourceKind;
  readonly #queue: WatchQueue;
  /** Version by namespace and name. */
  #versions = new Map<string, string | undefined>();

  constructor(kind: ResourceKind, queue: WatchQueue) {
    this.#kind = kind;
    this.#queue = queue;
  }

  /** Tells everything there is, as a first list does. */
  list(objects: readonly KubeObject[]): void {
    this.#versions = new Map(objects.map((object) => [placeOf(object), object.metadata.resourceVersion]));
    this.#queue.relist(objects);
  }

  /** Tells one change, as a watch does. */
  change(type: Exclude<WatchEvent['type'], 'listed'>, object: KubeObject): void {
    if (type === 'deleted') this.#versions.delete(placeOf(object));
    else this.#versions.set(placeOf(object), object.metadata.resourceVersion);
    this.#queue.push(keyOf(this.#kind, object.metadata), { type, object });
  }

  /** A list that breaks off has told of the objects that came; a later one tells of the others. */
  compare(): Comparison {
    const unseen = new Set(this.#versions.keys());
    return {
      see: (object, reduce) => {
        const place = placeOf(object);
        const { resourceVersion } = object.metadata;
        unseen.delete(place);
        const isKnown = this.#versions.has(place);
        if (isKnown && resourceVersion !== undefined && this.#versions.get(place) === resourceVersion) return;
        this.change(isKnown ? 'modified' : 'added', reduce(object));
      },
      end: () => {
        for (const place of unseen) this.change('deleted', this.#remains(place));
      },
    };
  }

  /** All that is left of an object whose end nobody has told. */
  #remains(place: string): KubeObject {
    const at = place.indexOf('/');
    const [namespace, name] = [place.slice(0, at), place.slice(at + 1)];
    const { apiVersion, kind } = this.#kind;
    return { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }) } };
  }
}

/** Names contain no slash. */
function placeOf({ metadata: { namespace, name } }: KubeObject): string {
  return `${namespace ?? ''}/${name}`;
}
