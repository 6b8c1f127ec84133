/** What the stream loop needs of one type's subscription, whichever variant of the protocol it speaks. */
import type { Interest } from './interest.ts';
import type { ResourceSet, TypeUrl } from './ports.ts';

export interface Response {
  readonly version: string;
  readonly nonce: string;
  readonly chunks: readonly Uint8Array[];
  readonly contents: Contents;
}

/** What a response tells, by name, where the protocol variant knows. */
export interface Contents {
  readonly sent: readonly string[];
  readonly removed: readonly string[];
  /** Of those sent: what the client already had in another version. */
  readonly replaced: readonly string[];
}

export const NOTHING: Contents = { sent: [], removed: [], replaced: [] };

/** What a request said about the response in flight. */
export type Verdict =
  | { readonly type: 'none' }
  | { readonly type: 'acked' }
  | { readonly type: 'nacked'; readonly message: string };

export const NO_VERDICT: Verdict = { type: 'none' };

export interface Subscription<Request> {
  readonly typeUrl: TypeUrl;
  /** A response was sent and is neither acknowledged nor rejected yet. */
  readonly inFlight: boolean;
  /** The client waits for an answer to a request, whether anything changed or not. */
  readonly owed: boolean;
  /** What has been answered for so far: whatever of it exists, the client holds or was sent. */
  readonly answered: Interest;
  receive(request: Request): Verdict;
  /** Makes the next response hold everything, as if the client had nothing yet. */
  resend(): void;
  /**
   * The response that brings the client to `set`, or undefined when it has nothing to get. Not called while one is in flight.
   * `parent` is what has been answered for of the type that leads to this one; undefined: the stream has no such type.
   */
  respond(set: ResourceSet, nonce: string, parent: Interest | undefined): Response | undefined;
  /** The type that leads to this one (clusters to endpoints, listeners to routes, routes to virtual hosts) was sent. */
  parentSent(contents: Contents): void;
}
