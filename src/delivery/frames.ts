/**
 * The part of a response that many clients share: resources, spliced once from ready-made bytes. What differs by stream (version,
 * type, nonce) is a second small chunk; protobuf takes fields in any order.
 */
import { hash } from 'node:crypto';
import { covers, type Interest, keyOf } from './interest.ts';
import type { EncodedResource, ResourceSet, TypeUrl } from './ports.ts';
import type { Contents } from './subscription.ts';
import { encodeFields, type Field } from './wire.ts';

/** The changes that take a client from one set to another. */
export interface DeltaFrame {
  readonly bytes: Buffer;
  readonly contents: Contents;
}

/** What is to be answered for, changed or not. */
export type Asked = Exclude<Interest, { readonly type: 'all' }>;

/** What an entry takes beside its bytes, so that small frames are bounded too. To find what changed takes long however little it is. */
const ENTRY_BYTES = 512;

export class Frames {
  readonly #maxBytes: number;
  readonly #kept = new Map<string, { readonly frame: Buffer | DeltaFrame; readonly size: number }>();
  #keptBytes = 0;
  readonly #ids = new WeakMap<ResourceSet, number>();
  #lastId = 0;
  readonly #nothing = new Map<TypeUrl, ResourceSet>();
  readonly #versions = new WeakMap<ResourceSet, Map<string, string>>();

  /** `maxBytes` bounds the frames that are kept for the next client; the least recently used go first. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Hash of what a client of this interest gets of a set: equal content, equal version. */
  versionOf(set: ResourceSet, interest: Interest): string {
    if (interest.type === 'all') return set.version;
    const versions = this.#versions.get(set) ?? new Map<string, string>();
    this.#versions.set(set, versions);
    const known = versions.get(keyOf(interest));
    if (known !== undefined) return known;
    const version = hash('sha1', JSON.stringify(select(set, interest).map(({ name, version }) => [name, version])), 'hex').slice(
      0,
      16,
    );
    versions.set(keyOf(interest), version);
    return version;
  }

  /** The `resources` of a DiscoveryResponse. */
  sotw(set: ResourceSet, interest: Interest): Buffer {
    return this.#remembered(
      `sotw ${this.#idOf(set)} ${keyOf(interest)}`,
      () => encodeFields(select(set, interest).map(({ any }): Field => [2, any])),
      (frame) => frame.length,
    );
  }

  /** As sotw(), without those that are the same in `from`; empty when all are. */
  sotwChanges(from: ResourceSet, to: ResourceSet, interest: Interest): Buffer {
    const isChanged = ({ name, version }: EncodedResource): boolean => from.resources.get(name)?.version !== version;
    return this.#remembered(
      `changes ${this.#idOf(from)} ${this.#idOf(to)} ${keyOf(interest)}`,
      () => encodeFields(select(to, interest).flatMap((resource): Field[] => (isChanged(resource) ? [[2, resource.any]] : []))),
      (frame) => frame.length,
    );
  }

  /**
   * The `resources` and `removed_resources` of a DeltaDiscoveryResponse for a client that holds `from` of its interest. What is
   * `asked` is answered in any case: sent though unchanged, or as removed when there is no such resource.
   */
  delta(from: ResourceSet, to: ResourceSet, interest: Interest, asked: Asked): DeltaFrame {
    return this.#remembered(
      `delta ${this.#idOf(from)} ${this.#idOf(to)} ${keyOf(interest)} ${keyOf(asked)}`,
      () => buildDelta(from, to, interest, asked),
      (frame) => frame.bytes.length,
    );
  }

  /** As delta(), for a client that tells what it holds by name and version; unique to it, so not kept. */
  resumed(held: ReadonlyMap<string, string>, to: ResourceSet, interest: Interest, asked: Asked): DeltaFrame {
    const changed = select(to, interest).filter(({ name, version }) => held.get(name) !== version || covers(asked, name));
    const known = interest.type === 'names' ? interest.names.names : [...held.keys()].filter((name) => covers(interest, name));
    return deltaFrame(changed, [...[...known].filter((name) => !to.resources.has(name)), ...missing(to, asked)], []);
  }

  /** The set that a new client holds: the same object each time, so that frames from it are shared. */
  nothing(typeUrl: TypeUrl): ResourceSet {
    const known = this.#nothing.get(typeUrl) ?? { typeUrl, version: '', resources: new Map() };
    this.#nothing.set(typeUrl, known);
    return known;
  }

  #idOf(set: ResourceSet): number {
    const id = this.#ids.get(set) ?? ++this.#lastId;
    this.#ids.set(set, id);
    return id;
  }

  #remembered<F extends Buffer | DeltaFrame>(key: string, build: () => F, sizeOf: (frame: F) => number): F {
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept.frame as F; // the key's first word tells the kind of frame
    }
    const frame = build();
    this.#keep(key, { frame, size: sizeOf(frame) + ENTRY_BYTES });
    return frame;
  }

  #keep(key: string, entry: { readonly frame: Buffer | DeltaFrame; readonly size: number }): void {
    this.#kept.set(key, entry);
    this.#keptBytes += entry.size;
    for (const [oldest, { size }] of this.#kept) {
      if (this.#keptBytes <= this.#maxBytes || oldest === key) break;
      this.#kept.delete(oldest);
      this.#keptBytes -= size;
    }
  }
}

/** The fields of a response that are the stream's own; the same numbers in DiscoveryResponse and DeltaDiscoveryResponse. */
export function responseHead(version: string, typeUrl: TypeUrl, nonce: string): Buffer {
  return encodeFields([
    [1, version],
    [4, typeUrl],
    [5, nonce],
  ]);
}

/** The resources of a set that a client asks for, sorted by name. */
export function select(set: ResourceSet, interest: Interest): EncodedResource[] {
  if (interest.type === 'all') return [...set.resources.values()];
  if (interest.type === 'collections') return [...set.resources.values()].filter(({ name }) => covers(interest, name));
  const found: EncodedResource[] = [];
  for (const name of [...interest.names.names].sort()) {
    const resource = set.resources.get(name);
    if (resource !== undefined) found.push(resource);
  }
  return found;
}

function buildDelta(from: ResourceSet, to: ResourceSet, interest: Interest, asked: Asked): DeltaFrame {
  const changed: EncodedResource[] = [];
  const replaced: string[] = [];
  for (const resource of to.resources.values()) {
    const before = from.resources.get(resource.name);
    const same = before === resource || before?.version === resource.version;
    if (same ? !covers(asked, resource.name) : !covers(interest, resource.name) && !covers(asked, resource.name)) continue;
    changed.push(resource);
    if (!same && before !== undefined) replaced.push(resource.name);
  }
  const removed = new Set(missing(to, asked));
  for (const name of from.resources.keys()) {
    if (!to.resources.has(name) && covers(interest, name)) removed.add(name);
  }
  return deltaFrame(changed, [...removed], replaced);
}

/** What was asked for and is not there. A collection without resources is told by a name that none can have. */
function missing(set: ResourceSet, asked: Asked): readonly string[] {
  if (asked.names.names.size === 0) return [];
  if (asked.type === 'names') return [...asked.names.names].filter((name) => !set.resources.has(name));
  const there = [...set.resources.keys()];
  return [...asked.names.names].map((name) => `${name}/`).filter((prefix) => !there.some((name) => name.startsWith(prefix)));
}

function deltaFrame(changed: readonly EncodedResource[], removed: readonly string[], replaced: readonly string[]): DeltaFrame {
  const resources = changed.map(
    ({ name, version, any }): Field => [
      2,
      [
        [1, version],
        [2, any],
        [3, name],
      ],
    ],
  );
  const bytes = encodeFields([...resources, ...removed.toSorted().map((name): Field => [6, name])]);
  return { bytes, contents: { sent: changed.map(({ name }) => name), removed, replaced } };
}
