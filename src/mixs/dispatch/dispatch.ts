import type { Duration } from '../../lib/duration.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';
import { isNamed } from '../../rules/adapter/quota-limits.ts';
import type { AttributeBag } from '../../rules/attribute/bag.ts';
import { bagWith } from '../../rules/attribute/bags.ts';
import type { Value } from '../../rules/attribute/value.ts';
import type { CompiledHeader, Configuration, ConfiguredHandler } from '../../rules/config/configuration.ts';
import type { BuiltInstance, CheckTemplate, ReportTemplate } from '../../rules/template/instances.ts';
import type { CompiledInstance } from '../../rules/template/template.ts';
import { TEMPLATES } from '../../rules/template/templates.ts';
import type { CheckResult, Handler, QuotaRequest, QuotaResult, Status } from '../adapter/adapter.ts';
import type { WorkerPool } from '../worker-pool.ts';
import type { CheckOutcome, Dispatcher, HeaderOperation } from './dispatcher.ts';
import { type CallOptions, callAtOnce, callHandler, type DispatchMeter } from './handler-call.ts';
import { type IndexedRule, RuleIndex } from './rule-index.ts';

export interface DispatchOptions {
  readonly defaultNamespace: string;
  readonly meter: DispatchMeter;
  /** Bounds the calls of handlers that wait for back ends. */
  readonly pool: WorkerPool;
  /** Milliseconds of a clock that never jumps. */
  readonly elapsed: () => number;
  /** Calls handlers one after the other. */
  readonly singleThreaded: boolean;
  /** After which a handler that has not answered has failed; HANDLER_LIMIT, unless this says otherwise. */
  readonly handlerLimit?: Duration;
}

const OK: Status = { code: RPC_CODES.OK, message: '' };
/** What holds where handlers set no narrower bounds. */
const LONGEST_VALID_MS = 60_000;
const MOST_VALID_USES = 10_000;
/** Stands for all quotas that no rule allocates: their names come from requests, and metrics keep theirs. */
const UNKNOWN_QUOTA = '(unknown quota)';

/** A dispatcher over one configuration and the handlers that were opened for it. */
export function createDispatcher(
  configuration: Configuration,
  handlers: ReadonlyMap<string, Handler>,
  options: DispatchOptions,
): Dispatcher {
  return new ConfiguredDispatcher(configuration, handlers, options);
}

class ConfiguredDispatcher implements Dispatcher {
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #options: DispatchOptions;
  readonly #attributes: RuleIndex;
  readonly #checks: RuleIndex;
  readonly #quotas: RuleIndex;
  readonly #reports: RuleIndex;
  readonly #quotaNames: readonly string[];

  constructor(configuration: Configuration, handlers: ReadonlyMap<string, Handler>, options: DispatchOptions) {
    const index = (variety: 'attributes' | 'check' | 'quota' | 'report'): RuleIndex =>
      new RuleIndex(configuration, variety, options.defaultNamespace);
    this.#handlers = handlers;
    this.#options = options;
    this.#attributes = index('attributes');
    this.#checks = index('check');
    this.#quotas = index('quota');
    this.#reports = index('report');
    const sent = [...configuration.rules.values()].flatMap(({ actions }) => actions.flatMap(({ instances }) => instances));
    this.#quotaNames = sent.filter(({ template }) => template === 'quota').map(({ name }) => name);
  }

  prepare(bag: AttributeBag): AttributeBag {
    if (this.#attributes.isEmpty) return bag;
    const found = new Map<string, Value>();
    this.#attributes.visit(bag, ({ actions }) => {
      for (const { handler, instances } of actions) {
        for (const instance of instances) this.#findAttributes(handler, instance, bag, found);
      }
    });
    return found.size === 0 ? bag : bagWith(bag, found);
  }

  #findAttributes(configured: ConfiguredHandler, instance: CompiledInstance, bag: AttributeBag, found: Map<string, Value>): void {
    const handler = this.#handlers.get(configured.id);
    const built = instance.build(bag);
    if (handler?.attributes === undefined || 'missing' in built || built.template !== 'kubernetes') return;
    const { id, adapter } = configured;
    const { meter, elapsed } = this.#options;
    const ask = (): ReturnType<NonNullable<Handler['attributes']>> | undefined => handler.attributes?.(built.values);
    const { source, destination } = callAtOnce(ask, { handler: id, adapter, template: 'kubernetes', meter, elapsed }) ?? {};
    for (const [name, value] of instance.bind?.(source, destination) ?? []) if (!found.has(name)) found.set(name, value);
  }

  check(bag: AttributeBag, signal: AbortSignal): CheckOutcome | Promise<CheckOutcome> {
    const calls: (() => CheckResult | Promise<CheckResult>)[] = [];
    const names: string[] = [];
    const headers: Headers = { request: [], response: [] };
    this.#checks.visit(bag, (indexed) => {
      for (const { handler, instances } of indexed.actions) {
        for (const instance of instances) {
          names.push(handler.id);
          calls.push(() => this.#checkOne(handler, instance, bag, signal));
        }
      }
      addHeaders(indexed, bag, headers);
    });
    const combine = (results: readonly CheckResult[]): CheckOutcome => combineChecks(names, results, headers);
    const results = this.#runAll(calls);
    return results instanceof Promise ? results.then(combine) : combine(results);
  }

  #checkOne(
    configured: ConfiguredHandler,
    instance: CompiledInstance,
    bag: AttributeBag,
    signal: AbortSignal,
  ): CheckResult | Promise<CheckResult> {
    const failed = (status: Status): CheckResult => ({ status, validMs: 0, validUses: 0 });
    const handler = this.#handlers.get(configured.id);
    if (handler?.check === undefined) return failed({ code: RPC_CODES.UNAVAILABLE, message: 'the handler is not open' });
    const built = instance.build(bag);
    if ('missing' in built) {
      this.#options.meter.skipped(instance.name, built.missing);
      return failed({ code: RPC_CODES.INVALID_ARGUMENT, message: `${instance.name}: the request has no ${built.missing}` });
    }
    if (!isOf('check', built)) return failed({ code: RPC_CODES.INTERNAL, message: `${built.template} is checked by nobody` });
    return callHandler(
      (call) => handler.check?.(built, call) ?? failed(OK),
      failed,
      this.#callOptions(configured, built.template, signal),
    );
  }

  async quota(name: string, bag: AttributeBag, request: QuotaRequest, signal: AbortSignal): Promise<QuotaResult> {
    if (!this.#quotaNames.some((id) => isNamed(id, name))) {
      this.#options.meter.skipped(UNKNOWN_QUOTA, `no rule allocates ${name}`);
      return { status: { code: RPC_CODES.NOT_FOUND, message: `no rule allocates a quota "${name}"` }, granted: 0, validMs: 0 };
    }
    const calls: (() => QuotaResult | Promise<QuotaResult>)[] = [];
    this.#quotas.visit(bag, ({ actions }) => {
      for (const { handler, instances } of actions) {
        for (const instance of instances) {
          if (isNamed(instance.name, name)) calls.push(() => this.#allocateOne(handler, instance, bag, request, signal));
        }
      }
    });
    const results = await this.#runAll(calls);
    // Where no rule applies to the request nothing bounds it.
    const unbounded: QuotaResult = { status: OK, granted: request.amount, validMs: LONGEST_VALID_MS };
    return results.reduce((least, result) => (result.granted < least.granted ? result : least), results[0] ?? unbounded);
  }

  #allocateOne(
    configured: ConfiguredHandler,
    instance: CompiledInstance,
    bag: AttributeBag,
    request: QuotaRequest,
    signal: AbortSignal,
  ): QuotaResult | Promise<QuotaResult> {
    const failed = (status: Status): QuotaResult => ({ status, granted: 0, validMs: 0 });
    const handler = this.#handlers.get(configured.id);
    if (handler?.quota === undefined) return failed({ code: RPC_CODES.UNAVAILABLE, message: 'the handler is not open' });
    const built = instance.build(bag);
    if ('missing' in built || built.template !== 'quota')
      return failed({ code: RPC_CODES.INVALID_ARGUMENT, message: `${instance.name} cannot be filled` });
    return callHandler(
      (call) => handler.quota?.(built.values, request, call) ?? failed(OK),
      failed,
      this.#callOptions(configured, 'quota', signal),
    );
  }

  async report(bags: readonly AttributeBag[], signal: AbortSignal): Promise<void> {
    const batches = new Map<ConfiguredHandler, BuiltInstance<ReportTemplate>[]>();
    for (const bag of bags) {
      const prepared = this.#preparedForReport(bag);
      this.#reports.visit(prepared, (rule) => this.#collect(rule, prepared, batches));
    }
    await this.#runAll(
      [...batches].map(
        ([configured, instances]) =>
          () =>
            this.#reportBatch(configured, instances, signal),
      ),
    );
  }

  /** What is known without a handler that fails is better than no report. */
  #preparedForReport(bag: AttributeBag): AttributeBag {
    try {
      return this.prepare(bag);
    } catch {
      return bag;
    }
  }

  #collect({ actions }: IndexedRule, bag: AttributeBag, batches: Map<ConfiguredHandler, BuiltInstance<ReportTemplate>[]>): void {
    for (const { handler, instances } of actions) {
      const batch = batches.get(handler) ?? [];
      batches.set(handler, batch);
      for (const instance of instances) {
        const built = instance.build(bag);
        if ('missing' in built) this.#options.meter.skipped(instance.name, built.missing);
        else if (isOf('report', built)) batch.push(built);
      }
    }
  }

  #reportBatch(
    configured: ConfiguredHandler,
    instances: readonly BuiltInstance<ReportTemplate>[],
    signal: AbortSignal,
  ): void | Promise<void> {
    const handler = this.#handlers.get(configured.id);
    if (handler?.report === undefined || instances.length === 0) return;
    const failed = ({ message }: Status): void => this.#options.meter.skipped(configured.id, message);
    return callHandler((call) => handler.report?.(instances, call), failed, this.#callOptions(configured, 'report', signal));
  }

  #callOptions({ id, adapter }: ConfiguredHandler, template: string, signal: AbortSignal): CallOptions {
    const { meter, pool, elapsed, handlerLimit: limit } = this.#options;
    return { handler: id, adapter, template, meter, pool, elapsed, signal, ...(limit === undefined ? {} : { limit }) };
  }

  /** All at once, or one after the other; without waiting where no handler has to be waited for. */
  #runAll<T>(calls: readonly (() => T | Promise<T>)[]): readonly T[] | Promise<readonly T[]> {
    if (this.#options.singleThreaded) return oneByOne(calls);
    const results = calls.map((call) => call());
    return results.every((result): result is T => !(result instanceof Promise)) ? results : Promise.all(results);
  }
}

async function oneByOne<T>(calls: readonly (() => T | Promise<T>)[]): Promise<readonly T[]> {
  const results: T[] = [];
  for (const call of calls) results.push(await call());
  return results;
}

/** Whether an instance is of a template that is dispatched to at such requests. */
function isOf(variety: 'check', built: BuiltInstance): built is BuiltInstance<CheckTemplate>;
function isOf(variety: 'report', built: BuiltInstance): built is BuiltInstance<ReportTemplate>;
function isOf(variety: 'check' | 'report', built: BuiltInstance): boolean {
  return TEMPLATES[built.template].variety === variety;
}

interface Headers {
  readonly request: HeaderOperation[];
  readonly response: HeaderOperation[];
}

function addHeaders({ rule }: IndexedRule, bag: AttributeBag, headers: Headers): void {
  for (const header of rule.requestHeaders) headers.request.push(...operationsOf(header, bag));
  for (const header of rule.responseHeaders) headers.response.push(...operationsOf(header, bag));
}

/** What is to be done with one header; values that the request does not have are left out. */
function operationsOf({ name, operation, values }: CompiledHeader, bag: AttributeBag): readonly HeaderOperation[] {
  if (operation === 'REMOVE') return [{ name, operation, value: '' }];
  const texts = values.map(({ evaluate }) => evaluate(bag)).filter((value) => typeof value === 'string');
  // Several values: the first one replaces, the others are added to it.
  return texts.map((value, index) => ({ name, operation: index === 0 ? operation : 'APPEND', value }));
}

function combineChecks(handlers: readonly string[], results: readonly CheckResult[], headers: Headers): CheckOutcome {
  let [validMs, validUses] = [LONGEST_VALID_MS, MOST_VALID_USES];
  let code: number = RPC_CODES.OK;
  const messages: string[] = [];
  for (const [index, { status, ...bounds }] of results.entries()) {
    validMs = Math.min(validMs, bounds.validMs);
    validUses = Math.min(validUses, bounds.validUses);
    if (status.code === RPC_CODES.OK) continue;
    if (code === RPC_CODES.OK) code = status.code;
    messages.push(`${handlers[index]}:${status.message}`);
  }
  const isFine = code === RPC_CODES.OK;
  return {
    status: isFine ? OK : { code, message: messages.join(', ') },
    validMs,
    validUses,
    requestHeaders: isFine ? headers.request : [],
    responseHeaders: isFine ? headers.response : [],
  };
}
