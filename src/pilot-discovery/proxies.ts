import type { DeliveryEvent, ProxyNode, TypeUrl } from '../delivery/ports.ts';

/** What one connected proxy has been sent of one resource type. */
export interface TypeStatus {
  readonly sent: { readonly version: string; readonly nonce: string; readonly at: Date } | undefined;
  readonly acked: { readonly version: string; readonly nonce: string } | undefined;
  /** The last rejection, until something newer is acknowledged. */
  readonly rejected: { readonly version: string; readonly message: string } | undefined;
}

export interface ConnectedProxy {
  readonly streamId: number;
  readonly node: ProxyNode;
  readonly connectedAt: Date;
  readonly types: ReadonlyMap<TypeUrl, TypeStatus>;
  /** The newest snapshot that the proxy has acknowledged everything of. */
  readonly sequence: number;
}

const NOTHING: TypeStatus = { sent: undefined, acked: undefined, rejected: undefined };

interface Entry {
  readonly streamId: number;
  readonly node: ProxyNode;
  readonly connectedAt: Date;
  readonly types: Map<TypeUrl, TypeStatus>;
  sequence: number;
}

/** The proxies connected now and how far each one is, from what delivery reports. */
export class Proxies {
  readonly #now: () => Date;
  readonly #streams = new Map<number, Entry>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  observe(event: DeliveryEvent): void {
    switch (event.type) {
      case 'connected': {
        const { streamId, node } = event;
        this.#streams.set(streamId, { streamId, node, connectedAt: this.#now(), types: new Map(), sequence: 0 });
        return;
      }
      case 'disconnected':
        this.#streams.delete(event.streamId);
        return;
      case 'current':
        return this.#update(event.streamId, (entry) => {
          entry.sequence = Math.max(entry.sequence, event.sequence);
        });
      default:
        return this.#update(event.streamId, (entry) => {
          entry.types.set(event.typeUrl, next(entry.types.get(event.typeUrl) ?? NOTHING, event, this.#now()));
        });
    }
  }

  #update(streamId: number, change: (entry: Entry) => void): void {
    const entry = this.#streams.get(streamId);
    if (entry !== undefined) change(entry);
  }

  get(streamId: number): ConnectedProxy | undefined {
    return this.#streams.get(streamId);
  }

  /** Sorted by proxy id. */
  list(): readonly ConnectedProxy[] {
    return [...this.#streams.values()].sort((a, b) =>
      a.node.id < b.node.id ? -1 : a.node.id > b.node.id ? 1 : a.streamId - b.streamId,
    );
  }

  /** The proxies with that id: the whole node id, or the `pod.namespace` part of it. */
  find(id: string): readonly ConnectedProxy[] {
    return this.list().filter(({ node }) => node.id === id || workloadOf(node.id) === id);
  }
}

/** `pod.namespace` of a node id `type~ip~pod.namespace~domain`; the id itself when it has another form. */
export function workloadOf(nodeId: string): string {
  return nodeId.split('~')[2] ?? nodeId;
}

type TypeEvent = Extract<DeliveryEvent, { readonly typeUrl: TypeUrl }>;

function next(status: TypeStatus, event: TypeEvent, at: Date): TypeStatus {
  switch (event.type) {
    case 'sent':
      return { ...status, sent: { version: event.version, nonce: event.nonce, at } };
    case 'acked': {
      const acked = { version: event.version, nonce: event.nonce };
      // A proxy that polls can hold a version that an earlier process sent.
      return { sent: status.sent ?? { ...acked, at }, acked, rejected: undefined };
    }
    case 'nacked':
      return { ...status, rejected: { version: event.version, message: event.message } };
    case 'timed_out':
      return status;
  }
}
