/** What the stream loop needs of one type's subscription, whichever variant of the protocol it speaks. */
import type { ResourceSet, TypeUrl } from './ports.ts';

export interface Response {
  readonly version: string;
  readonly nonce: string;
  readonly chunks: readonly Uint8Array[];
  /** Resources that the client already had in another version, where the protocol variant knows. */
  readonly replaced: readonly string[];
}

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
  receive(request: Request): Verdict;
  /** The response that brings the client to `set`, or undefined when it has nothing to get. Not called while one is in flight. */
  respond(set: ResourceSet, nonce: string): Response | undefined;
  /** The type that leads to this one (clusters to endpoints, listeners to routes) was sent, with these resources replaced. */
  parentSent(replaced: readonly string[]): void;
}
