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
const MAX_MESSAGE = 2_000;

export class RejectedConfigurations {
  readonly #deps: RejectedDeps;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: RejectedDeps) {
    this.#deps = deps;
  }

  observe(event: DeliveryEvent): void {
    switch (event.type) {
      case 'nacked':
        return this.#add(event.streamId, event.typeUrl, event.message.slice(0, MAX_MESSAGE));
      case 'acked':
        return this.#remove((key) => key === keyOf(event.streamId, event.typeUrl));
      case 'disconnected':
        return this.#remove((key) => key.startsWith(`${event.streamId} `));
      case 'connected':
      case 'sent':
      case 'timed_out':
      case 'current':
        return;
    }
  }

  objectsOf(streamId: number, typeUrl: TypeUrl): readonly ObjectName[] {
    return this.#entries.get(keyOf(streamId, typeUrl))?.objects ?? [];
  }

  /** The same rejection by several proxies is one. */
  list(): readonly Rejection[] {
    const groups = new Map<string, Entry[]>();
    for (const entry of this.#entries.values()) {
      const key = JSON.stringify([entry.typeUrl, entry.message]);
      groups.set(key, [...(groups.get(key) ?? []), entry]);
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
    this.#entries.set(keyOf(streamId, typeUrl), {
      node,
      typeUrl,
      message,
      objects: objectsBehind(node, typeUrl, message),
      since: now(),
    });
    this.#deps.onChange();
  }

  #remove(matches: (key: string) => boolean): void {
    const gone = [...this.#entries.keys()].filter(matches);
    for (const key of gone) this.#entries.delete(key);
    if (gone.length > 0) this.#deps.onChange();
  }
}

const keyOf = (streamId: number, typeUrl: TypeUrl): string => `${streamId} ${typeUrl}`;
