/** What proxies refuse to take, with the objects it comes from, until they take something newer. */
import type { DeliveryEvent, ProxyNode, TypeUrl } from '../delivery/ports.ts';
import type { ObjectName } from './rejections.ts';

/** One rejection and everybody it is of. */
export interface Rejection {
  readonly typeUrl: TypeUrl;
  /** Envoy's words. */
  readonly message: string;
  /** Most likely culprit first; empty when nothing points to an object. */
  readonly objects: readonly ObjectName[];
  /** Node ids, sorted. */
  readonly proxies: readonly string[];
  readonly since: Date;
}

interface Entry {
  readonly node: ProxyNode;
  readonly typeUrl: TypeUrl;
  readonly message: string;
  readonly objects: readonly ObjectName[];
  readonly since: Date;
}

export interface RejectedDeps {
  readonly objectsBehind: (node: ProxyNode, typeUrl: TypeUrl, message: string) => readonly ObjectName[];
  readonly nodeOf: (streamId: number) => ProxyNode | undefined;
  readonly now: () => Date;
  readonly onChange: () => void;
}

/** Bytes of Envoy's message that are kept; it can repeat a whole resource. */
export const MAX_MESSAGE = 2_000;

export class RejectedConfigurations {
  readonly #deps: RejectedDeps;
  readonly #entries = new Map<number, Map<TypeUrl, Entry>>();

  constructor(deps: RejectedDeps) {
    this.#deps = deps;
  }

  observe(event: DeliveryEvent): void {
    switch (event.type) {
      case 'nacked':
        return this.#add(event.streamId, event.typeUrl, event.message.slice(0, MAX_MESSAGE));
      case 'acked':
        if (this.#entries.get(event.streamId)?.delete(event.typeUrl) === true) this.#deps.onChange();
        return;
      case 'disconnected':
        if (this.#entries.delete(event.streamId)) this.#deps.onChange();
        return;
      case 'connected':
      case 'sent':
      case 'timed_out':
      case 'current':
        return;
    }
  }

  objectsOf(streamId: number, typeUrl: TypeUrl): readonly ObjectName[] {
    return this.#entries.get(streamId)?.get(typeUrl)?.objects ?? [];
  }

  /** The same rejection by several proxies is one. */
  list(): readonly Rejection[] {
    const groups = new Map<string, Entry[]>();
    for (const entry of [...this.#entries.values()].flatMap((types) => [...types.values()])) {
      const key = JSON.stringify([entry.typeUrl, entry.message]);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [entry]);
      else group.push(entry);
    }
    return [...groups.values()].flatMap((entries): Rejection[] => {
      const [first] = entries.toSorted((a, b) => a.since.getTime() - b.since.getTime());
      if (first === undefined) return [];
      const { typeUrl, message, objects, since } = first;
      return [{ typeUrl, message, objects, since, proxies: entries.map(({ node }) => node.id).sort() }];
    });
  }

  #add(streamId: number, typeUrl: TypeUrl, message: string): void {
    const { nodeOf, objectsBehind, now } = this.#deps;
    const node = nodeOf(streamId);
    if (node === undefined) return;
    const types = this.#entries.get(streamId) ?? new Map<TypeUrl, Entry>();
    this.#entries.set(
      streamId,
      types.set(typeUrl, { node, typeUrl, message, objects: objectsBehind(node, typeUrl, message), since: now() }),
    );
    this.#deps.onChange();
  }
}
