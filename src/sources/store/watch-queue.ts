import type { KubeObject } from '../../model/object.ts';
import type { WatchEvent } from './object-store.ts';

type Change = Exclude<WatchEvent, { type: 'listed' }>;

/**
 * The events that one consumer has not taken yet. A later change of an object is folded into the earlier one, so that a slow
 * consumer never has more waiting than there are objects.
 */
export class WatchQueue {
  #listed: readonly KubeObject[] | undefined;
  readonly #changes = new Map<string, Change>();
  #wake: (() => void) | undefined;
  #ended = false;

  /** Puts a whole new list in the place of everything that waits. */
  relist(objects: readonly KubeObject[]): void {
    this.#listed = objects;
    this.#changes.clear();
    this.#wake?.();
  }

  push(key: string, change: Change): void {
    const waiting = this.#changes.get(key);
    const folded = waiting === undefined ? change : fold(waiting, change);
    if (folded === undefined) this.#changes.delete(key);
    else this.#changes.set(key, folded);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Yields what is pushed, until the end. */
  async *drain(): AsyncGenerator<WatchEvent, void, undefined> {
    while (!this.#ended) {
      const event = this.#take();
      if (event !== undefined) yield event;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
  }

  #take(): WatchEvent | undefined {
    if (this.#listed !== undefined) {
      const objects = this.#listed;
      this.#listed = undefined;
      return { type: 'listed', objects };
    }
    for (const [key, change] of this.#changes) {
      this.#changes.delete(key);
      return change;
    }
    return undefined;
  }
}

/** What a consumer that saw neither change must be told; `undefined` when they cancel each other. */
function fold(earlier: Change, later: Change): Change | undefined {
  if (earlier.type === 'added') return later.type === 'deleted' ? undefined : { type: 'added', object: later.object };
  if (earlier.type === 'deleted') return { type: 'modified', object: later.object };
  return later;
}
