/**
 * Sets of resource names, shared: thousands of streams subscribe to the same thousand names, and must not each hold, decode or
 * compare them.
 */
import { hash } from 'node:crypto';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { MeshError } from '../lib/errors.ts';

/** Immutable; two live sets of one pool with the same names are the same object. */
export interface NameSet {
  /** Unique within the pool's life. */
  readonly id: number;
  readonly names: ReadonlySet<string>;
}

const RECENT_BYTES = 4 * 1024 * 1024;

/** What requests said lately, byte for byte: comparing takes a tenth of what hashing does, and most streams repeat the same. */
class RecentWires {
  readonly #maxBytes: number;
  /** By length: what is as long is mostly equal. */
  readonly #byLength = new Map<number, { readonly wire: Buffer; readonly set: NameSet }>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  find(wire: Uint8Array): NameSet | undefined {
    const known = this.#byLength.get(wire.length);
    return known?.wire.equals(wire) ? known.set : undefined;
  }

  /** Replaces one of the same length; the oldest go when there are too many. */
  add(wire: Uint8Array, set: NameSet): void {
    if (wire.length > this.#maxBytes / 4) return;
    this.#drop(wire.length);
    this.#byLength.set(wire.length, { wire: Buffer.from(wire), set });
    this.#bytes += wire.length;
    for (const oldest of this.#byLength.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest);
    }
  }

  #drop(length: number): void {
    if (this.#byLength.delete(length)) this.#bytes -= length;
  }
}

export class NamePool {
  readonly #maxNames: number;
  readonly #sets = new Map<string, WeakRef<NameSet>>();
  readonly #recent = new RecentWires(RECENT_BYTES);
  readonly #dead = new FinalizationRegistry<string>((key) => {
    if (this.#sets.get(key)?.deref() === undefined) this.#sets.delete(key);
  });
  #lastId = 0;
  readonly empty: NameSet;

  /** `maxNames` bounds every set; what would be larger throws `resource_exhausted`. */
  constructor(maxNames: number) {
    this.#maxNames = maxNames;
    this.empty = this.of([]);
  }

  of(names: Iterable<string>): NameSet {
    const unique = new Set(names);
    if (unique.size > this.#maxNames) {
      throw new MeshError('resource_exhausted', `a subscription holds ${unique.size} names, over the limit of ${this.#maxNames}`);
    }
    const key = `of ${digest(JSON.stringify([...unique].sort()))}`;
    return this.#remembered(key, () => ({ id: ++this.#lastId, names: unique }));
  }

  /** From consecutive length-delimited fields as they stand in a request, whatever their number. */
  fromWire(fields: Uint8Array): NameSet {
    if (fields.length === 0) return this.empty;
    const known = this.#recent.find(fields);
    if (known !== undefined) return known;
    const set = this.#remembered(`wire ${digest(fields)}`, () => this.of(decodeNames(fields, this.#maxNames)));
    this.#recent.add(fields, set);
    return set;
  }

  union(a: NameSet, b: NameSet): NameSet {
    if (b.names.size === 0 || a === b) return a;
    if (a.names.size === 0) return b;
    return this.#remembered(`${a.id}+${b.id}`, () => this.of([...a.names, ...b.names]));
  }

  minus(a: NameSet, b: NameSet): NameSet {
    if (a.names.size === 0 || b.names.size === 0) return a;
    return this.#remembered(`${a.id}-${b.id}`, () => this.of([...a.names].filter((name) => !b.names.has(name))));
  }

  intersection(a: NameSet, b: NameSet): NameSet {
    return a === b ? a : this.of([...a.names].filter((name) => b.names.has(name)));
  }

  #remembered(key: string, make: () => NameSet): NameSet {
    const known = this.#sets.get(key)?.deref();
    if (known !== undefined) return known;
    const made = make();
    this.#sets.set(key, new WeakRef(made));
    this.#dead.register(made, key);
    return made;
  }
}

function digest(data: string | Uint8Array): string {
  return hash('sha256', data, 'base64');
}

function* decodeNames(fields: Uint8Array, maxNames: number): Generator<string> {
  const reader = new BinaryReader(fields);
  for (let count = 0; reader.pos < reader.len; count += 1) {
    // Counted with repetitions, before they become strings.
    if (count > maxNames) throw new MeshError('resource_exhausted', `a request holds more names than the limit of ${maxNames}`);
    reader.tag();
    yield reader.string();
  }
}
