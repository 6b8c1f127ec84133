/**
 * Proxies that poll, followed like those on a stream. A polling proxy says which version it holds and never why it refused one, so what it did
 * with an answer shows in its next request only.
 */
import type { NameSet } from './name-set.ts';
import type { DeliveryEvent, ProxyNode, TypeUrl } from './ports.ts';

export interface PollingDeps {
  readonly observe: (event: DeliveryEvent) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Proxies followed at once; the one that has not polled for longest is forgotten first. Default 20,000. */
  readonly maxProxies?: number;
}

/** One request and what it was answered with. */
export interface Poll {
  readonly node: ProxyNode;
  readonly typeUrl: TypeUrl;
  readonly names: NameSet;
  /** What the proxy held before. */
  readonly held: string;
  /** What it was answered with, or told that it holds already. */
  readonly version: string;
  /** The snapshot that the version is of. */
  readonly sequence: number;
}

/** One subscription of a proxy: Envoy polls clusters once, and each route table for itself. */
interface Poller {
  readonly typeUrl: TypeUrl;
  /** Held so that the same names stay the same object from one request to the next. */
  readonly names: NameSet;
  /** The version answered last. */
  version: string;
  sequence: number;
  holds: boolean;
  /** Requests since the version was answered that show that the proxy did not take it. */
  refusals: number;
  at: number;
}

interface Client {
  readonly id: number;
  readonly node: ProxyNode;
  readonly pollers: Map<string, Poller>;
  readonly acked: Map<TypeUrl, string>;
  at: number;
  /** The longest time seen between two of its requests for the same. */
  pause: number;
  sequence: number;
}

/** A response that did not arrive is asked for again once; one that is asked for so often was refused. */
const REFUSED_AFTER = 3;
const MAX_POLLERS = 1_024;
/** How long a proxy that polled once is believed to be there, and how much longer than usual it may stay away after that. */
const FIRST_PAUSE_MS = 300_000;
const MIN_PAUSE_MS = 30_000;
const PATIENCE = 4;

export class PollingProxies {
  readonly #observe: (event: DeliveryEvent) => void;
  readonly #now: () => number;
  readonly #maxProxies: number;
  /** Least recently seen first. */
  readonly #clients = new Map<string, Client>();
  #lastId = 0;

  constructor(deps: PollingDeps) {
    this.#observe = deps.observe;
    this.#now = deps.now;
    this.#maxProxies = deps.maxProxies ?? 20_000;
  }

  answered(poll: Poll): void {
    const client = this.#client(poll.node);
    const poller = this.#poller(client, poll);
    this.#judge(client, poller, poll.held);
    this.#answer(client, poller, poll);
    this.#reportTaken(client, poll.typeUrl);
    this.#reportCurrent(client);
  }

  /** Forgets proxies and subscriptions that have not been polled for long. To be called every few seconds. */
  sweep(): void {
    const now = this.#now();
    for (const [key, client] of this.#clients) {
      const patience = client.pause === 0 ? FIRST_PAUSE_MS : Math.max(MIN_PAUSE_MS, PATIENCE * client.pause);
      if (now - client.at > patience) this.#forget(key, client);
      else for (const [name, poller] of client.pollers) if (now - poller.at > patience) client.pollers.delete(name);
    }
  }

  #client(node: ProxyNode): Client {
    const known = this.#clients.get(node.id);
    if (known !== undefined) {
      this.#clients.delete(node.id);
      this.#clients.set(node.id, known);
      return known;
    }
    for (const [key, client] of this.#clients) {
      if (this.#clients.size < this.#maxProxies) break;
      this.#forget(key, client);
    }
    this.#lastId += 1;
    // Streams count up from 1: these count down.
    const fresh = { id: -this.#lastId, node, pollers: new Map(), acked: new Map(), at: 0, pause: 0, sequence: 0 };
    this.#clients.set(node.id, fresh);
    this.#observe({ type: 'connected', streamId: fresh.id, node });
    return fresh;
  }

  #forget(key: string, client: Client): void {
    this.#clients.delete(key);
    this.#observe({ type: 'disconnected', streamId: client.id, node: client.node });
  }

  #poller(client: Client, { typeUrl, names }: Poll): Poller {
    const key = `${typeUrl} ${names.id}`;
    const at = this.#now();
    client.at = at;
    const known = client.pollers.get(key);
    if (known !== undefined) {
      client.pause = Math.max(client.pause, at - known.at);
      known.at = at;
      return known;
    }
    const [oldest] = client.pollers.keys();
    if (client.pollers.size >= MAX_POLLERS && oldest !== undefined) client.pollers.delete(oldest);
    const fresh = { typeUrl, names, version: '', sequence: 0, holds: false, refusals: 0, at };
    client.pollers.set(key, fresh);
    return fresh;
  }

  /** What the proxy did with the answer before. */
  #judge(client: Client, poller: Poller, held: string): void {
    if (poller.version === '') return;
    poller.holds = held === poller.version;
    if (poller.holds) return;
    poller.refusals += 1;
    if (poller.refusals !== REFUSED_AFTER) return;
    const { typeUrl, version } = poller;
    const message = `it polls again and again without taking version ${version}; why stands in its own log`;
    this.#observe({ type: 'nacked', streamId: client.id, typeUrl, version, nonce: version, message });
  }

  #answer(client: Client, poller: Poller, { typeUrl, held, version, sequence }: Poll): void {
    poller.sequence = sequence;
    if (held === version) {
      poller.version = version;
      poller.holds = true;
      return;
    }
    if (poller.version === version) return;
    poller.version = version;
    poller.holds = false;
    poller.refusals = 0;
    client.acked.delete(typeUrl);
    this.#observe({ type: 'sent', streamId: client.id, typeUrl, version, nonce: version, sequence });
  }

  /** A type is taken over when every subscription to it is; told once. */
  #reportTaken(client: Client, typeUrl: TypeUrl): void {
    const pollers = [...client.pollers.values()].filter((poller) => poller.typeUrl === typeUrl);
    if (client.acked.has(typeUrl) || !pollers.every(({ holds }) => holds)) return;
    const { version = '', sequence = 0 } = pollers.at(-1) ?? {};
    client.acked.set(typeUrl, version);
    this.#observe({ type: 'acked', streamId: client.id, typeUrl, version, nonce: version, sequence });
  }

  #reportCurrent(client: Client): void {
    const pollers = [...client.pollers.values()];
    if (!pollers.every(({ holds }) => holds)) return;
    const sequence = Math.min(...pollers.map((poller) => poller.sequence));
    if (sequence <= client.sequence) return;
    client.sequence = sequence;
    this.#observe({ type: 'current', streamId: client.id, sequence });
  }
}
