/**
 * State of the world: every response to a request holds everything the client subscribed to, and so does every change of what it subscribed
 * to by the wildcard, as absence is deletion there. Of named resources a change holds those that are different: a client keeps the others.
 * https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#grouping-resources-into-responses
 */
import { type Frames, responseHead } from './frames.ts';
import { ALL, type Interest } from './interest.ts';
import type { ResourceSet, TypeUrl } from './ports.ts';
import type { SotwRequest } from './request.ts';
import { NO_VERDICT, NOTHING, type Response, type Subscription, type Verdict } from './subscription.ts';
import { CLUSTER, LISTENER } from './types.ts';

const WILDCARD = '*';

export class SotwSubscription implements Subscription<SotwRequest> {
  readonly typeUrl: TypeUrl;
  readonly #frames: Frames;
  #interest: Interest | undefined;
  /** Once a client named resources, an empty list means none of them, no longer all. */
  #named = false;
  #nonce = '';
  #inFlight = false;
  #owed = true;
  #sent: { readonly set: ResourceSet; readonly version: string } | undefined;
  /** The set that the client's resources are those of, as far as it is known. */
  #held: ResourceSet | undefined;
  #rejectedVersion: string | undefined;
  #parentSentInFlight = false;

  constructor(typeUrl: TypeUrl, frames: Frames) {
    this.typeUrl = typeUrl;
    this.#frames = frames;
  }

  get inFlight(): boolean {
    return this.#inFlight;
  }

  get owed(): boolean {
    return this.#owed;
  }

  get answered(): Interest {
    return this.#interest ?? ALL;
  }

  receive(request: SotwRequest): Verdict {
    // The first request of a type on a stream may carry a nonce of the stream before.
    const first = this.#interest === undefined;
    if (!first && request.responseNonce !== this.#nonce) return NO_VERDICT;
    const added = this.#subscribe(request);
    if (first) return NO_VERDICT;
    if (added) this.#owed = true;
    if (this.#inFlight) return this.#settle(request);
    // No response to acknowledge: the client asks again for what it has, as Envoy does for the endpoints of a cluster it warms.
    if (request.rejection === undefined) this.#owed = true;
    return NO_VERDICT;
  }

  respond(set: ResourceSet, nonce: string): Response | undefined {
    const interest = this.#interest;
    if (interest === undefined || (interest.type === 'names' && interest.names.names.size === 0)) {
      this.#owed = false;
      return undefined;
    }
    const version = this.#frames.versionOf(set, interest);
    const asked = this.#owed;
    this.#owed = false;
    if ((version === this.#sent?.version && !asked) || version === this.#rejectedVersion) return undefined;
    const resources = asked ? this.#frames.sotw(set, interest) : this.#changed(set, interest);
    this.#sent = { set, version };
    this.#nonce = nonce;
    this.#inFlight = true;
    this.#parentSentInFlight = false;
    return { version, nonce, chunks: [responseHead(version, this.typeUrl, nonce), resources], contents: NOTHING };
  }

  resend(): void {
    this.#owed = true;
    this.#held = undefined;
    this.#rejectedVersion = undefined;
  }

  parentSent(): void {
    this.#parentSentInFlight = this.#inFlight;
  }

  #changed(set: ResourceSet, interest: Interest): Buffer {
    const held = this.#held;
    const isWhole = interest.type !== 'names' || this.typeUrl === CLUSTER || this.typeUrl === LISTENER;
    const changes = isWhole || held === undefined ? undefined : this.#frames.sotwChanges(held, set, interest);
    // Some are gone, and nothing else: there is no way to say so but to send the rest.
    return changes === undefined || changes.length === 0 ? this.#frames.sotw(set, interest) : changes;
  }

  #settle(request: SotwRequest): Verdict {
    this.#inFlight = false;
    if (request.rejection !== undefined) {
      // It may have taken some of it over, and some not.
      this.#held = undefined;
      this.#rejectedVersion = this.#sent?.version;
      return { type: 'nacked', message: request.rejection };
    }
    this.#rejectedVersion = undefined;
    this.#held = this.#sent?.set;
    // The client may have folded its new request for what the parent leads to into this acknowledgement.
    if (this.#parentSentInFlight) this.#owed = true;
    return { type: 'acked' };
  }

  /** Takes over the names of a request; tells whether it asks for any that the one before did not. */
  #subscribe({ names }: SotwRequest): boolean {
    const before = this.#interest;
    if (names.names.size > 0) this.#named = true;
    const all = names.names.has(WILDCARD) || !this.#named;
    if (all) this.#interest = ALL;
    else if (before?.type !== 'names' || before.names !== names) this.#interest = { type: 'names', names };
    const now = this.#interest;
    if (before === undefined || now === undefined || now === before) return false;
    // What is left of a narrower subscription was sent already.
    if (this.#sent !== undefined) this.#sent = { set: this.#sent.set, version: this.#frames.versionOf(this.#sent.set, now) };
    if (now.type === 'all') return true;
    return before.type === 'names' && [...now.names.names].some((name) => !before.names.names.has(name));
  }
}
