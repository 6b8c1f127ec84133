/** State of the world: every response holds everything the client subscribed to. https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol */
import { type Frames, responseHead } from './frames.ts';
import { ALL, type Interest } from './interest.ts';
import type { ResourceSet, TypeUrl } from './ports.ts';
import type { SotwRequest } from './request.ts';
import { NO_VERDICT, NOTHING, type Response, type Subscription, type Verdict } from './subscription.ts';

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
    const unchanged = version === this.#sent?.version && !this.#owed;
    this.#owed = false;
    if (unchanged || version === this.#rejectedVersion) return undefined;
    this.#sent = { set, version };
    this.#nonce = nonce;
    this.#inFlight = true;
    this.#parentSentInFlight = false;
    const chunks = [responseHead(version, this.typeUrl, nonce), this.#frames.sotw(set, interest)];
    return { version, nonce, chunks, contents: NOTHING };
  }

  resend(): void {
    this.#owed = true;
    this.#rejectedVersion = undefined;
  }

  parentSent(): void {
    this.#parentSentInFlight = this.#inFlight;
  }

  #settle(request: SotwRequest): Verdict {
    this.#inFlight = false;
    if (request.rejection !== undefined) {
      this.#rejectedVersion = this.#sent?.version;
      return { type: 'nacked', message: request.rejection };
    }
    this.#rejectedVersion = undefined;
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
