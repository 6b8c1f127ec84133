/** One discovery stream: takes requests as they come, and sends one response after the other. */
import type { CallContext, ServerStream } from '../io/grpc/types.ts';
import type { Duration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Interest } from './interest.ts';
import type { Change, ConfigSource, DeliveryEvent, Grain, ProxyNode, TypeUrl } from './ports.ts';
import { requireTypeUrl } from './request.ts';
import { RequestBudget } from './request-budget.ts';
import { NOTHING, type Response, type Subscription } from './subscription.ts';
import { childOf, isCollected, parentOf, rankOf } from './types.ts';
import { Wakeup } from './wakeup.ts';

/** A timer that can be taken back. */
export type Timer = (run: () => void, delay: Duration) => () => void;

/** Throws for a peer that does not get the configuration of a node. */
export type Admit = (node: ProxyNode, peer: CallContext['peer']) => void;

export interface StreamDeps {
  readonly source: ConfigSource;
  readonly observe: (event: DeliveryEvent) => void;
  readonly admit: Admit;
  readonly timer: Timer;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly sendTimeout: Duration;
}

/** A variant of the protocol: how its requests are read and its subscriptions kept. */
export interface Variant<Request> {
  readonly grain: Grain;
  parse(bytes: Uint8Array): Request;
  subscribe(typeUrl: TypeUrl): Subscription<Request>;
}

interface AnyRequest {
  readonly node: ProxyNode | undefined;
  readonly typeUrl: string;
}

interface Watched<Request> {
  readonly subscription: Subscription<Request>;
  /** Something changed since the subscription was last asked for a response. */
  due: boolean;
  /** The last verdict was a rejection. */
  rejected: boolean;
  last: { readonly version: string; readonly nonce: string; readonly sequence: number } | undefined;
}

/** Types on one stream; Envoy has a dozen. */
const MAX_TYPES = 32;

export class DiscoveryStream<Request extends AnyRequest> {
  readonly #id: number;
  readonly #deps: StreamDeps;
  readonly #variant: Variant<Request>;
  readonly #ownType: TypeUrl | undefined;
  readonly #stream: ServerStream;
  readonly #peer: CallContext['peer'];
  /** In the order of delivery. */
  #watched: Watched<Request>[] = [];
  readonly #wakeup = new Wakeup();
  /** Resources sent whose collections the client has not subscribed to yet. */
  readonly #collectionsToCome = new Set<string>();
  #node: ProxyNode | undefined;
  #over = false;
  #nonces = 0;
  #currentSequence = 0;
  /** The snapshot for which the peer was last found to get the node's configuration. */
  #admittedSequence = 0;

  constructor(
    id: number,
    deps: StreamDeps,
    variant: Variant<Request>,
    ownType: TypeUrl | undefined,
    stream: ServerStream,
    peer: CallContext['peer'],
  ) {
    this.#id = id;
    this.#deps = deps;
    this.#variant = variant;
    this.#ownType = ownType;
    this.#stream = stream;
    this.#peer = peer;
  }

  /** Ends when the client half-closes; rejects with what ended the stream otherwise. */
  async run(): Promise<void> {
    const stop = this.#deps.source.onChange((change) => this.#changed(change));
    try {
      await Promise.all([this.#receiveAll(), this.#sendAll()]);
    } finally {
      stop();
      this.#end();
      if (this.#node !== undefined) this.#deps.observe({ type: 'disconnected', streamId: this.#id, node: this.#node });
    }
  }

  #changed(change: Change): void {
    for (const watched of this.#watched) {
      if (change === 'resend') watched.subscription.resend();
      watched.due = true;
    }
    this.#wakeup.wake();
  }

  #end(): void {
    this.#over = true;
    this.#wakeup.wake();
  }

  async #receiveAll(): Promise<void> {
    const budget = new RequestBudget(this.#deps.now);
    try {
      for await (const bytes of this.#stream.requests) {
        budget.take();
        this.#receive(this.#variant.parse(bytes));
      }
    } finally {
      this.#end();
    }
  }

  #receive(request: Request): void {
    this.#identify(request.node);
    const watched = this.#watchedOf(requireTypeUrl(request.typeUrl, this.#ownType));
    const { subscription, last } = watched;
    const verdict = subscription.receive(request);
    if (isCollected(subscription.typeUrl) && this.#collectionsToCome.size > 0) {
      subscription.parentSent({ ...NOTHING, sent: [...this.#collectionsToCome] });
      this.#collectionsToCome.clear();
    }
    if (verdict.type !== 'none' && last !== undefined) {
      watched.rejected = verdict.type === 'nacked';
      this.#report(subscription.typeUrl, last, verdict);
    }
    watched.due = true;
    this.#wakeup.wake();
  }

  #report(
    typeUrl: TypeUrl,
    { version, nonce, sequence }: NonNullable<Watched<Request>['last']>,
    verdict: { readonly type: 'acked' } | { readonly type: 'nacked'; readonly message: string },
  ): void {
    const common = { streamId: this.#id, typeUrl, version, nonce };
    if (verdict.type === 'acked') this.#deps.observe({ type: 'acked', ...common, sequence });
    else this.#deps.observe({ type: 'nacked', ...common, message: verdict.message });
  }

  #identify(node: ProxyNode | undefined): void {
    if (this.#node !== undefined) return;
    if (node === undefined || node.id === '') {
      throw new MeshError('invalid', 'the first discovery request of a stream has no node id');
    }
    this.#admit(node);
    this.#node = node;
    this.#deps.observe({ type: 'connected', streamId: this.#id, node });
  }

  #admit(node: ProxyNode): void {
    const { sequence } = this.#deps.source;
    if (sequence === this.#admittedSequence) return;
    this.#deps.admit(node, this.#peer);
    this.#admittedSequence = sequence;
  }

  #watchedOf(typeUrl: TypeUrl): Watched<Request> {
    const known = this.#watched.find(({ subscription }) => subscription.typeUrl === typeUrl);
    if (known !== undefined) return known;
    if (this.#watched.length >= MAX_TYPES) {
      throw new MeshError('resource_exhausted', `one stream subscribes to more than ${MAX_TYPES} resource types`);
    }
    const watched: Watched<Request> = {
      subscription: this.#variant.subscribe(typeUrl),
      due: false,
      rejected: false,
      last: undefined,
    };
    this.#watched = [...this.#watched, watched].sort((a, b) => rankOf(a.subscription.typeUrl) - rankOf(b.subscription.typeUrl));
    return watched;
  }

  async #sendAll(): Promise<void> {
    while (!this.#over) {
      if (await this.#sendNext()) continue;
      this.#reportCurrent();
      await this.#wakeup.sleep();
    }
  }

  /** Sends the first response that there is, or waits for what it is made of; a newer snapshot met on the way replaces what an older one would have said. */
  async #sendNext(): Promise<boolean> {
    const { source } = this.#deps;
    if (this.#node === undefined || source.sequence === 0) return false;
    this.#admit(this.#node);
    for (const watched of this.#watched) {
      const { subscription } = watched;
      if (!watched.due || subscription.inFlight || this.#mustWait(subscription)) continue;
      const preparing = source.prepare?.(this.#node, subscription.typeUrl, this.#variant.grain);
      if (preparing !== undefined) {
        await preparing;
        return true;
      }
      watched.due = false;
      const sequence = source.sequence;
      this.#nonces += 1;
      const set = source.resources(this.#node, subscription.typeUrl, this.#variant.grain);
      const response = subscription.respond(set, String(this.#nonces), this.#answeredParent(subscription.typeUrl));
      if (response === undefined) continue;
      watched.last = { version: response.version, nonce: response.nonce, sequence };
      await this.#send(subscription.typeUrl, response, sequence);
      return true;
    }
    return false;
  }

  #answeredParent(typeUrl: TypeUrl): Interest | undefined {
    const parent = parentOf(typeUrl);
    return this.#watched.find(({ subscription }) => subscription.typeUrl === parent)?.subscription.answered;
  }

  /** With nothing to send and nothing in flight, the client holds what the newest snapshot says. */
  #reportCurrent(): void {
    const { sequence } = this.#deps.source;
    const behind = this.#watched.some(({ subscription, due, rejected }) => due || rejected || subscription.inFlight);
    if (this.#node === undefined || this.#watched.length === 0 || behind || sequence === this.#currentSequence) return;
    this.#currentSequence = sequence;
    this.#deps.observe({ type: 'current', streamId: this.#id, sequence });
  }

  /** A change waits until the client has taken over what it may refer to; the answer to a request never waits. */
  #mustWait(subscription: Subscription<Request>): boolean {
    if (subscription.owed) return false;
    const rank = rankOf(subscription.typeUrl);
    return this.#watched.some((other) => other.subscription.inFlight && rankOf(other.subscription.typeUrl) < rank);
  }

  async #send(typeUrl: TypeUrl, response: Response, sequence: number): Promise<void> {
    const { version, nonce } = response;
    this.#tellChild(typeUrl, response);
    // Told before the bytes leave: the acknowledgement must not be seen first.
    this.#deps.observe({ type: 'sent', streamId: this.#id, typeUrl, version, nonce, sequence });
    const late = Promise.withResolvers<never>();
    const cancel = this.#deps.timer(() => {
      this.#deps.observe({ type: 'timed_out', streamId: this.#id, typeUrl });
      late.reject(new MeshError('unavailable', `the client did not take a response within ${this.#deps.sendTimeout} ms`));
    }, this.#deps.sendTimeout);
    try {
      await Promise.race([this.#stream.write(response.chunks), late.promise]);
    } finally {
      cancel();
    }
  }

  #tellChild(typeUrl: TypeUrl, response: Response): void {
    const child = childOf(typeUrl);
    const watched = this.#watched.find(({ subscription }) => subscription.typeUrl === child);
    if (watched === undefined) {
      if (child !== undefined && isCollected(child)) for (const name of response.contents.sent) this.#collectionsToCome.add(name);
      return;
    }
    watched.subscription.parentSent(response.contents);
    watched.due = true;
  }
}
