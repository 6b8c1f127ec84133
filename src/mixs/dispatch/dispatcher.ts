import type { AttributeBag } from '../../rules/attribute/bag.ts';
import type { QuotaRequest, QuotaResult, Status } from '../adapter/adapter.ts';

/** What the APIs (Mixer, ext_authz, access log, rate limit) ask of the configuration in force. One is immutable; a new one takes its place. */
export interface Dispatcher {
  /**
   * Adds what attribute handlers know (kubernetesenv) to the request's own attributes.
   *
   * @throws MeshError `unavailable` when one fails: nobody can decide on what is not known
   */
  prepare(bag: AttributeBag, signal: AbortSignal): AttributeBag | Promise<AttributeBag>;
  /** Never throws: what goes wrong in a handler becomes a status. */
  check(bag: AttributeBag, signal: AbortSignal): CheckOutcome | Promise<CheckOutcome>;
  /** `name` is that of a quota instance; one that no rule allocates is answered with NOT_FOUND and nothing granted. */
  quota(name: string, bag: AttributeBag, request: QuotaRequest, signal: AbortSignal): Promise<QuotaResult>;
  /** Prepares the bags, and resolves when handlers have taken the reports, not when back ends have. */
  report(bags: readonly AttributeBag[], signal: AbortSignal): Promise<void>;
}

export interface CheckOutcome {
  readonly status: Status;
  /** Milliseconds, the minimum of all handlers'. */
  readonly validMs: number;
  readonly validUses: number;
  readonly requestHeaders: readonly HeaderOperation[];
  readonly responseHeaders: readonly HeaderOperation[];
}

export interface HeaderOperation {
  readonly operation: 'REPLACE' | 'REMOVE' | 'APPEND';
  /** Lower case. */
  readonly name: string;
  readonly value: string;
}
