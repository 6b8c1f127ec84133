/** Incremental xDS: every response holds what changed. https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#incremental-xds */
import { type Asked, type DeltaFrame, type Frames, responseHead } from './frames.ts';
import { ALL, collectionOf, type Interest } from './interest.ts';
import type { NamePool, NameSet } from './name-set.ts';
import type { ResourceSet, TypeUrl } from './ports.ts';
import type { DeltaRequest } from './request.ts';
import { type Contents, NO_VERDICT, type Response, type Subscription, type Verdict } from './subscription.ts';

const WILDCARD = '*';

/**
 * What the names of a subscription are: resources; or collections, each of all resources named `<name>/...`, as for virtual hosts, where a
 * client means by the wildcard the collections of those route tables that it was sent on this stream.
 */
export type Naming = 'resources' | 'collections';

interface Flight {
  readonly nonce: string;
  readonly version: string;
  readonly heldBefore: ResourceSet | undefined;
  readonly contents: Contents;
  /** Only names that were asked for, of a version that was rejected as a whole. */
  readonly partial: boolean;
}

/**
 * What a client holds is not written down resource by resource: after each response it is "what `held` says of its subscription",
 * and `held` is shared by all clients.
 */
export class DeltaSubscription implements Subscription<DeltaRequest> {
  readonly typeUrl: TypeUrl;
  readonly #frames: Frames;
  readonly #pool: NamePool;
  readonly #naming: Naming;
  readonly #wildcard: NameSet;
  #all = false;
  #names: NameSet;
  /** Names to answer for, changed or not. */
  #asked: NameSet;
  /** Names whose parent was sent anew: whatever the client said to hold of them, it has dropped. */
  #renewed: NameSet;
  /** Names in a response that was rejected as a whole: the client may have taken some of it over, and some not. */
  #doubtful: NameSet;
  #answered: Interest;
  /** The set that the client's resources are those of; undefined before the first response. */
  #held: ResourceSet | undefined;
  /** What the client brought from an earlier stream. */
  #resumed: ReadonlyMap<string, string> | undefined;
  #opened = false;
  #flight: Flight | undefined;
  #rejectedVersion: string | undefined;

  constructor(typeUrl: TypeUrl, frames: Frames, pool: NamePool, naming: Naming) {
    this.typeUrl = typeUrl;
    this.#frames = frames;
    this.#pool = pool;
    this.#naming = naming;
    this.#wildcard = pool.of([WILDCARD]);
    this.#names = pool.empty;
    this.#asked = pool.empty;
    this.#renewed = pool.empty;
    this.#doubtful = pool.empty;
    this.#answered = { type: 'names', names: pool.empty };
  }

  get inFlight(): boolean {
    return this.#flight !== undefined;
  }

  get owed(): boolean {
    return this.#held === undefined || this.#asked.names.size > 0;
  }

  get answered(): Interest {
    return this.#answered;
  }

  receive(request: DeltaRequest): Verdict {
    this.#subscribe(request);
    this.#unsubscribe(request);
    return this.#settle(request);
  }

  respond(set: ResourceSet, nonce: string, parent: Interest | undefined): Response | undefined {
    const first = this.#held === undefined;
    const rejected = set.version === this.#rejectedVersion;
    const interest = this.#interest(parent);
    const frame = this.#frameFor(set, interest, rejected);
    if (!rejected) this.#doubtful = this.#pool.empty;
    const silent = frame === undefined || (isEmpty(frame) && !this.#mustOpen(first));
    const heldBefore = this.#held;
    if (!rejected) this.#held = set;
    this.#answered = interest;
    this.#asked = this.#pool.empty;
    this.#renewed = this.#pool.empty;
    this.#resumed = undefined;
    if (silent) return undefined;
    this.#flight = { nonce, version: set.version, heldBefore, contents: frame.contents, partial: rejected };
    return {
      version: set.version,
      nonce,
      chunks: [responseHead(set.version, this.typeUrl, nonce), frame.bytes],
      contents: frame.contents,
    };
  }

  resend(): void {
    this.#held = undefined;
    this.#rejectedVersion = undefined;
  }

  /**
   * Envoy does not ask again for what it is subscribed to, but a replaced parent waits for it:
   * https://github.com/envoyproxy/envoy/issues/13009. And it never asks for the virtual hosts of one route table: they must follow it.
   */
  parentSent({ sent, replaced }: Contents): void {
    if (this.#naming === 'collections') {
      if (sent.length === 0) return;
      const tables = this.#pool.of(sent);
      const wanted = this.#all ? tables : this.#pool.intersection(tables, this.#names);
      this.#renewed = this.#pool.union(this.#renewed, wanted);
      this.#asked = this.#pool.union(this.#asked, wanted);
      return;
    }
    if (replaced.length === 0 || this.#held === undefined) return;
    const subscribed = this.#pool.intersection(this.#pool.of(replaced), this.#names);
    this.#asked = this.#pool.union(this.#asked, subscribed);
  }

  #interest(parent: Interest | undefined): Interest {
    if (this.#naming === 'resources') return this.#all ? ALL : { type: 'names', names: this.#names };
    if (!this.#all) return { type: 'collections', names: this.#names };
    // What a client is not ready for it drops, and believes to hold ever after.
    return parent === undefined || parent.type === 'all' ? ALL : { type: 'collections', names: parent.names };
  }

  #askedFor(names: NameSet): Asked {
    return { type: this.#naming === 'resources' ? 'names' : 'collections', names };
  }

  #namesOf({ sent, removed }: Contents): NameSet {
    const names = [...sent, ...removed];
    return this.#pool.of(this.#naming === 'resources' ? names : names.map(collectionOf));
  }

  #frameFor(set: ResourceSet, interest: Interest, rejected: boolean): DeltaFrame | undefined {
    const held = this.#held;
    if (held === undefined) {
      if (this.#resumed !== undefined) {
        return this.#frames.resumed(this.#resumed, set, interest, this.#askedFor(this.#renewed));
      }
      return this.#frames.delta(this.#frames.nothing(this.typeUrl), set, interest, this.#askedFor(this.#names));
    }
    const asked = rejected ? this.#asked : this.#pool.union(this.#asked, this.#doubtful);
    if (asked.names.size === 0 && (rejected || held === set || held.version === set.version)) return undefined;
    // What was rejected is not sent again, but other names are still answered for.
    return this.#frames.delta(rejected ? set : held, set, interest, this.#askedFor(asked));
  }

  /** The first response to a wildcard is sent even when empty: the client waits to learn that there is nothing. */
  #mustOpen(first: boolean): boolean {
    return first && this.#all && this.#resumed === undefined;
  }

  #subscribe(request: DeltaRequest): void {
    const { names } = request.subscribe;
    if (!this.#opened) {
      this.#opened = true;
      this.#all = names.size === 0;
      if (request.initialVersions.size > 0) this.#resumed = request.initialVersions;
    }
    if (names.has(WILDCARD) && !this.#all) this.#widen();
    const named = this.#pool.minus(request.subscribe, this.#wildcard);
    this.#names = this.#pool.union(this.#names, named);
    // Asked for again means that the client may have dropped it.
    this.#asked = this.#pool.union(this.#asked, named);
  }

  /** A wildcard on top of names: the client may hold nothing of the rest, so it is told everything. */
  #widen(): void {
    this.#all = true;
    this.#held = undefined;
  }

  #unsubscribe({ unsubscribe }: DeltaRequest): void {
    if (unsubscribe.names.size === 0) return;
    if (unsubscribe.names.has(WILDCARD)) this.#all = false;
    const named = this.#pool.minus(unsubscribe, this.#wildcard);
    this.#names = this.#pool.minus(this.#names, named);
    // Under a wildcard the client cannot know whether it keeps what it unsubscribed from by name: it is told.
    this.#asked = this.#all ? this.#pool.union(this.#asked, named) : this.#pool.minus(this.#asked, named);
  }

  #settle(request: DeltaRequest): Verdict {
    const flight = this.#flight;
    if (flight === undefined || request.responseNonce !== flight.nonce) return NO_VERDICT;
    this.#flight = undefined;
    if (request.rejection === undefined) {
      if (!flight.partial) this.#rejectedVersion = undefined;
      return { type: 'acked' };
    }
    this.#rejectedVersion = flight.version;
    // Part of the response may have been good: with the next change all of it is sent again, be it a return to what was before.
    this.#held = flight.heldBefore ?? this.#frames.nothing(this.typeUrl);
    this.#doubtful = this.#pool.union(this.#doubtful, this.#namesOf(flight.contents));
    return { type: 'nacked', message: request.rejection };
  }
}

function isEmpty({ contents: { sent, removed } }: DeltaFrame): boolean {
  return sent.length === 0 && removed.length === 0;
}
