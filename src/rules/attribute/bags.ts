import type { AttributeBag } from './bag.ts';
import type { StringMap, Value } from './value.ts';

/** A bag over values by name. */
export function bagFrom(values: ReadonlyMap<string, Value>): AttributeBag {
  return new MapBag(values);
}

class MapBag implements AttributeBag {
  readonly #values: ReadonlyMap<string, Value>;

  constructor(values: ReadonlyMap<string, Value>) {
    this.#values = values;
  }

  get(name: string): Value | undefined {
    return this.#values.get(name);
  }

  entry(name: string, key: string): string | undefined {
    const map = this.#values.get(name);
    return isStringMap(map) ? map.get(key) : undefined;
  }

  names(): Iterable<string> {
    return this.#values.keys();
  }
}

/** A bag with more attributes; those of the request itself come first. */
export function bagWith(bag: AttributeBag, more: ReadonlyMap<string, Value>): AttributeBag {
  const added = bagFrom(more);
  return {
    get: (name) => bag.get(name) ?? added.get(name),
    entry: (name, key) => bag.entry(name, key) ?? added.entry(name, key),
    names: () => new Set([...bag.names(), ...added.names()]),
  };
}

/** What an answer depends on: attributes by name, with the keys where only entries of a map were asked for. */
export interface Reference {
  readonly name: string;
  /** Of a STRING_MAP; `undefined` for the attribute as a whole. */
  readonly key: string | undefined;
  readonly present: boolean;
}

/** A bag that records what is asked of it. */
export class TrackedBag implements AttributeBag {
  readonly #bag: AttributeBag;
  readonly #whole = new Map<string, boolean>();
  #entries: Map<string, Map<string, boolean>> | undefined;

  constructor(bag: AttributeBag) {
    this.#bag = bag;
  }

  get(name: string): Value | undefined {
    const value = this.#bag.get(name);
    this.#whole.set(name, value !== undefined);
    return value;
  }

  entry(name: string, key: string): string | undefined {
    const value = this.#bag.entry(name, key);
    this.#entries ??= new Map();
    const keys = this.#entries.get(name);
    if (keys === undefined) this.#entries.set(name, new Map([[key, value !== undefined]]));
    else keys.set(key, value !== undefined);
    return value;
  }

  names(): Iterable<string> {
    return this.#bag.names();
  }

  references(): readonly Reference[] {
    const references: Reference[] = [];
    this.#whole.forEach((present, name) => {
      references.push({ name, key: undefined, present });
    });
    this.#entries?.forEach((keys, name) => {
      keys.forEach((present, key) => {
        references.push({ name, key, present });
      });
    });
    return references;
  }
}

export function isStringMap(value: Value | undefined): value is StringMap {
  return value instanceof Map;
}
