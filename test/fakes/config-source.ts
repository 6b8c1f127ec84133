import { hash } from 'node:crypto';
import { Any } from '#gen/google/protobuf/any.ts';
import type { Change, ConfigSource, EncodedResource, ProxyNode, ResourceSet, TypeUrl } from '../../src/delivery/ports.ts';

function version(...parts: (string | Uint8Array)[]): string {
  return hash('sha1', Buffer.concat(parts.map((part) => Buffer.from(part))), 'hex').slice(0, 12);
}

export function resource(typeUrl: TypeUrl, name: string, value: Uint8Array): EncodedResource {
  return { name, version: version(value), any: Any.encode({ typeUrl, value }).finish() };
}

export function resourceSet(typeUrl: TypeUrl, resources: readonly EncodedResource[]): ResourceSet {
  const sorted = resources.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    typeUrl,
    version: version(...sorted.flatMap(({ name, version }) => [name, '=', version, ';'])),
    resources: new Map(sorted.map((entry) => [entry.name, entry])),
  };
}

/** Configuration that a test sets as it goes; the same for every proxy. */
export class FakeConfigSource implements ConfigSource {
  sequence = 0;
  /** Makes resources() throw for a node. */
  refuse: ((node: ProxyNode) => void) | undefined;
  readonly #sets = new Map<TypeUrl, ResourceSet>();
  readonly #listeners = new Set<(change: Change) => void>();

  get listeners(): number {
    return this.#listeners.size;
  }

  resources(node: ProxyNode, typeUrl: TypeUrl): ResourceSet {
    this.refuse?.(node);
    const set = this.#sets.get(typeUrl) ?? resourceSet(typeUrl, []);
    this.#sets.set(typeUrl, set);
    return set;
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Replaces the sets of some types and publishes the next snapshot. */
  publish(...sets: readonly ResourceSet[]): void {
    for (const set of sets) this.#sets.set(set.typeUrl, set);
    this.sequence += 1;
    for (const listener of [...this.#listeners]) listener('snapshot');
  }
}
