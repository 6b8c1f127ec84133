import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { LossReason } from './adapter/adapter.ts';
import { CIRCUIT_STATES } from './adapter/circuit-breaker.ts';
import type { HandlerCondition } from './adapter/handler-conditions.ts';
import type { DispatchMeter } from './dispatch/handler-call.ts';

/** Seconds. */
const LATENCY_BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

export interface MixsMetrics extends DispatchMeter {
  /** Whatever is scraped on the monitoring port; the prometheus adapter adds its own metrics. */
  readonly registry: Registry;
  /** One request of the API, by its method (`Check`, `Report`, ...) and the name of its gRPC status. */
  requested(method: string, status: string, milliseconds: number): void;
  unknownAttribute(): void;
  /** Reports that a handler's back end does not get. */
  lost(handler: string, reason: LossReason, records: number): void;
  configured(state: {
    readonly rules: number;
    readonly handlers: number;
    readonly instances: number;
    readonly problems: number;
  }): void;
}

type Conditions = () => readonly (readonly [handler: string, condition: HandlerCondition])[];

export function createMixsMetrics(
  version: string,
  poolState: () => { readonly running: number; readonly waiting: number },
  storeProblems: () => number = () => 0,
  conditions: Conditions = () => [],
): MixsMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  new Gauge({ name: 'mixs_info', help: 'the version of mixs', labelNames: ['version'], registers }).set({ version }, 1);
  const requests = new Counter({
    name: 'mixs_api_requests_total',
    help: 'requests of the API',
    labelNames: ['method', 'status'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'mixs_api_request_seconds',
    help: 'time from a request to its answer',
    labelNames: ['method'],
    buckets: LATENCY_BUCKETS,
    registers,
  });
  const calls = new Counter({
    name: 'mixs_adapter_calls_total',
    help: 'calls of handlers, by what became of them',
    labelNames: ['handler', 'adapter', 'template', 'outcome'],
    registers,
  });
  const callSeconds = new Histogram({
    name: 'mixs_adapter_call_seconds',
    help: 'time that handlers took',
    labelNames: ['adapter'],
    buckets: LATENCY_BUCKETS,
    registers,
  });
  const skipped = new Counter({
    name: 'mixs_instances_skipped_total',
    help: 'instances that a request could not fill, and quotas that no rule knows',
    labelNames: ['instance'],
    registers,
  });
  const unknown = new Counter({
    name: 'mixs_attributes_unknown_total',
    help: 'attributes of requests that no vocabulary has',
    registers,
  });
  const lost = new Counter({
    name: 'mixs_adapter_reports_lost_total',
    help: 'reports that got to no back end',
    labelNames: ['handler', 'reason'],
    registers,
  });
  const configuration = new Gauge({
    name: 'mixs_config_objects',
    help: 'what is in force, and problems',
    labelNames: ['part'],
    registers,
  });
  new Gauge({
    name: 'mixs_api_pool',
    help: 'requests that are worked on, and that wait',
    labelNames: ['state'],
    registers,
    collect() {
      const { running, waiting } = poolState();
      this.set({ state: 'running' }, running);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  new Gauge({
    name: 'mixs_store_problems',
    help: 'what the store cannot read: files that are no YAML, objects that are none',
    registers,
    collect() {
      this.set(storeProblems());
    },
  });
  addConditions(registry, conditions);
  return {
    registry,
    requested: (method, status, ms) => {
      requests.inc({ method, status });
      requestSeconds.observe({ method }, ms / 1000);
    },
    called: (handler, adapter, template, outcome, ms) => {
      calls.inc({ handler, adapter, template, outcome });
      callSeconds.observe({ adapter }, ms / 1000);
    },
    skipped: (instance) => skipped.inc({ instance }),
    unknownAttribute: () => unknown.inc(),
    lost: (handler, reason, records) => lost.inc({ handler, reason }, records),
    configured: (parts) => {
      for (const [part, count] of Object.entries(parts)) configuration.set({ part }, count);
    },
  };
}

/** What handlers tell of their back ends. */
function addConditions(registry: Registry, conditions: Conditions): void {
  const registers = [registry];
  const labelNames = ['handler'];
  new Gauge({
    name: 'mixs_handler_circuit',
    help: 'whether calls are made: 1 for the state that the circuit is in',
    labelNames: [...labelNames, 'state'],
    registers,
    collect() {
      this.reset();
      for (const [handler, { circuit }] of conditions())
        for (const state of CIRCUIT_STATES) this.set({ handler, state }, state === circuit ? 1 : 0);
    },
  });
  new Gauge({
    name: 'mixs_handler_trouble',
    help: 'whether something is wrong between a handler and its back end; /debug/config says what',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [handler, { trouble }] of conditions()) this.set({ handler }, trouble === undefined ? 0 : 1);
    },
  });
  new Counter({
    name: 'mixs_handler_failures_total',
    help: 'calls of a back end that came to nothing, health checks included',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [handler, { failures }] of conditions()) this.inc({ handler }, failures);
    },
  });
}
