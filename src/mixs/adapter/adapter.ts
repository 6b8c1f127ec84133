import type { Writable } from 'node:stream';
import type { Logger } from '../../io/log/logger.ts';
import type { Permissions } from '../../rules/rbac/permissions.ts';
import type {
  BuiltInstance,
  CheckTemplate,
  Instances,
  KubernetesOutput,
  ReportTemplate,
} from '../../rules/template/instances.ts';
import type { PodIndex } from '../kubernetes/pod-index.ts';
import type { HandlerConditions } from './handler-conditions.ts';
import type { ScrapedRegistries } from './scraped-registries.ts';

/**
 * Opens what a handler needs. Must not wait for a backend: one that is down at start is met again at requests. Handlers of unchanged
 * configuration live on when other configuration changes.
 */
export type OpenHandler<Params> = (params: Params, environment: AdapterEnvironment) => Handler;

export interface AdapterEnvironment {
  /** `name.kind.namespace` of the handler. */
  readonly handler: string;
  /** Of scope `adapters`. */
  readonly logger: Logger;
  readonly now: () => Date;
  /** Milliseconds of a clock that never jumps, for spans of time. */
  readonly elapsed: () => number;
  /** Of [0, 1). */
  readonly random: () => number;
  /** Aborted when the handler is closed. */
  readonly signal: AbortSignal;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Where the prometheus adapter puts what is scraped on the monitoring port. */
  readonly scraped: ScrapedRegistries;
  /** Where a handler shows how it gets on with its back end. */
  readonly conditions: Pick<HandlerConditions, 'show'>;
  /** The pods of the store. */
  readonly pods: Pick<PodIndex, 'follow' | 'byUid' | 'byIp'>;
  /** What the roles in force allow now. */
  readonly permissions: () => Permissions;
  /** Counts what was reported and gets to no back end. */
  readonly lost: (records: number, reason: LossReason) => void;
}

/** Too many waited, the back end took none of them or not these, the server ended, or they were none that could be sent. */
export type LossReason = 'queue full' | 'refused' | 'shutdown' | 'malformed';

/** A running handler. Methods are there for the templates its adapter names. Whatever they throw or take too long for is the dispatcher's to bound. */
export interface Handler {
  check?(instance: BuiltInstance<CheckTemplate>, call: HandlerCall): CheckResult | Promise<CheckResult>;
  quota?(instance: Instances['quota'], request: QuotaRequest, call: HandlerCall): QuotaResult | Promise<QuotaResult>;
  /** Instances of one or several requests. Bounded: what a backend does not take is dropped and counted, never awaited without end. */
  report?(instances: readonly BuiltInstance<ReportTemplate>[], call: HandlerCall): void | Promise<void>;
  attributes?(instance: Instances['kubernetes']): {
    readonly source: KubernetesOutput | undefined;
    readonly destination: KubernetesOutput | undefined;
  };
  /** Flushes what waits, for as long as the signal allows. */
  close(signal: AbortSignal): Promise<void>;
}

export interface HandlerCall {
  /** Aborted at the request's deadline or when it is cancelled. */
  readonly signal: AbortSignal;
}

/** google.rpc.Status; the code is one of google.rpc.Code, 0 for OK. */
export interface Status {
  readonly code: number;
  readonly message: string;
}

export interface CheckResult {
  readonly status: Status;
  /** Milliseconds; Infinity where the handler sets no bound. */
  readonly validMs: number;
  /** Infinity where the handler sets no bound. */
  readonly validUses: number;
}

export interface QuotaRequest {
  readonly amount: number;
  readonly bestEffort: boolean;
  /** The same for a call that is tried again; empty for none. */
  readonly deduplicationId: string;
}

export interface QuotaResult {
  readonly status: Status;
  readonly granted: number;
  /** Milliseconds until what was granted lapses; 0 where it does not. */
  readonly validMs: number;
}
