/** mixs: policy checks, quota and telemetry, between proxies and infrastructure back ends. */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Invocation } from '../flags/table.ts';
import { createHealthService } from '../io/grpc/health.ts';
import { createGrpcServer } from '../io/grpc/server.ts';
import type { Method } from '../io/grpc/types.ts';
import type { Host } from '../io/host.ts';
import { createHttpServer } from '../io/http/server.ts';
import { createLogging, type Logging } from '../io/log/winston.ts';
import { startProfiler } from '../io/profile/profiler.ts';
import { ANY_HOST } from '../lib/address.ts';
import { buildInfo } from '../lib/version.ts';
import { kindsFor } from '../model/kinds.ts';
import { allKinds, ruleKinds } from '../rules/config/kinds.ts';
import { systemTimers } from '../sources/debounce.ts';
import { type OpenedStore, openStore } from '../sources/store/open.ts';
import { createStoreProblemLog } from '../sources/store/problem-log.ts';
import { HandlerConditions } from './adapter/handler-conditions.ts';
import { openHandler } from './adapter/openers.ts';
import { ScrapedRegistries } from './adapter/scraped-registries.ts';
import { boundedBytes, byteBudget } from './api/bounded-bytes.ts';
import { envoyMethods } from './api/envoy.ts';
import { measured } from './api/measured.ts';
import { mixerMethods } from './api/mixer.ts';
import type { DispatchMeter } from './dispatch/handler-call.ts';
import { MIXS_SCOPES, type ServerFlags } from './flags.ts';
import { type FollowedRules, followRules } from './follow-rules.ts';
import { PodIndex } from './kubernetes/pod-index.ts';
import { createMixsMetrics, type MixsMetrics } from './metrics.ts';
import { monitoringHandler } from './monitoring.ts';
import { checkProbeFiles, keepProbeFiles } from './probe-files.ts';
import { type Collectors, openCollectors } from './telemetry/collectors.ts';
import { OwnSpans } from './telemetry/own-spans.ts';
import { WorkerPool } from './worker-pool.ts';

/** Requests that run get this long at shutdown. */
const SHUTDOWN_GRACE_MS = 5_000;

/** Serves until the host's signal; gives the exit code. */
export async function run(invocation: Invocation<ServerFlags>, host: Host): Promise<number> {
  const { options } = invocation;
  checkProbeFiles(options);
  const logging = await createLogging(options, host, MIXS_SCOPES);
  const stop = new AbortController();
  const signal = AbortSignal.any([host.signal, stop.signal]);
  try {
    const store = open(options.configStoreURL, host, logging);
    try {
      await serve(options, store, host, logging, signal);
    } finally {
      stop.abort();
      await store.close();
    }
    return 0;
  } finally {
    await logging.close();
  }
}

function open(path: string, { names, env, cwd, now }: Host, logging: Logging): OpenedStore {
  const logger = logging.scope('default');
  return openStore(path, {
    flag: '--configStoreURL',
    kinds: allKinds(names),
    env,
    cwd,
    now,
    newUid: randomUUID,
    onProblem: createStoreProblemLog(logger),
  });
}

type Options = Invocation<ServerFlags>['options'];

async function serve(options: Options, store: OpenedStore, host: Host, logging: Logging, signal: AbortSignal): Promise<void> {
  const logger = logging.scope('default');
  const pool = new WorkerPool(options.apiWorkerPoolSize);
  const conditions = new HandlerConditions();
  const metrics = createMixsMetrics(
    buildInfo.version,
    () => pool,
    () => store.problems().length,
    () => conditions.all(),
  );
  const scraped = new ScrapedRegistries(metrics.registry);
  const collectors = openCollectors(options, { logger, random: Math.random, lost: metrics.lost });
  const spans = collectors === undefined ? undefined : ownSpans(collectors);
  const instruments = { metrics, meter: spans?.meter(metrics) ?? metrics, scraped, conditions };
  const rules = await startRules(options, store, host, logging, instruments, signal);
  const health = createHealthService();
  const { maxMessageSize, maxConcurrentStreams } = options;
  const bounded = boundedBytes(requestMethods(rules, pool, metrics, logging), byteBudget(maxMessageSize));
  const methods = measured(bounded, metrics);
  const all = [...(spans?.methods(methods) ?? methods), ...health.methods];
  const server = createGrpcServer({ methods: all, maxMessageSize, maxConcurrentStreams }, logger);
  const profiler = options.profile ? await startProfiler(host.now, signal) : undefined;
  const monitoring = createHttpServer({
    handle: monitoringHandler({ scraped, conditions, rules, store, logging, profiler }),
    onError: (error, { path }) => logger.error('a page failed', { path, error }),
  });
  try {
    await monitoring.listen({ host: ANY_HOST, port: options.monitoringPort });
    await server.listen({ host: ANY_HOST, port: options.port });
    health.set('', 'serving');
    logger.info('serving', { port: server.port, monitoringPort: monitoring.port });
    await Promise.all([aborted(host.signal), ...keepProbeFiles(options, server.port, logger, signal)]);
    logger.info('shutting down');
  } finally {
    health.set('', 'not_serving');
    await server.close(SHUTDOWN_GRACE_MS);
    await rules.close();
    await collectors?.close(AbortSignal.timeout(SHUTDOWN_GRACE_MS));
    await monitoring.close(SHUTDOWN_GRACE_MS);
  }
}

/** What proxies call. */
function requestMethods(rules: FollowedRules, pool: WorkerPool, metrics: MixsMetrics, logging: Logging): readonly Method[] {
  const logger = logging.scope('attributes');
  const api = {
    pool,
    inForce: () => {
      const { dispatcher, configuration } = rules.current();
      return { dispatcher, vocabulary: configuration.vocabulary, charges: configuration.charges };
    },
    unknownAttribute: (name: string) => {
      metrics.unknownAttribute();
      logger.debug('nobody knows an attribute', { name });
    },
    malformed: (method: string, reason: string) => {
      metrics.requested(method, 'malformed', 0);
      logger.debug('a message cannot be read', { method, reason });
    },
  };
  return [...mixerMethods(api), ...envoyMethods(api)];
}

function ownSpans({ record }: Collectors): OwnSpans {
  return new OwnSpans({
    record,
    now: () => performance.timeOrigin + performance.now(),
    newId: (digits) => randomBytes(digits / 2).toString('hex'),
  });
}

interface Instruments {
  readonly metrics: MixsMetrics;
  readonly meter: DispatchMeter;
  readonly scraped: ScrapedRegistries;
  readonly conditions: HandlerConditions;
}

function startRules(
  options: Options,
  store: OpenedStore,
  { names, now, stdout, stderr }: Host,
  logging: Logging,
  { metrics, meter, scraped, conditions }: Instruments,
  signal: AbortSignal,
): Promise<FollowedRules> {
  const adapters = logging.scope('adapters');
  const pods = new PodIndex({ store, kind: kindsFor(names).pod, logger: adapters, signal });
  const adapterPool = new WorkerPool(options.adapterWorkerPoolSize);
  return followRules({
    store,
    kinds: ruleKinds(names.domain).map(({ resource }) => resource),
    dispatch: {
      defaultNamespace: options.configDefaultNamespace,
      meter,
      pool: adapterPool,
      elapsed: () => performance.now(),
      singleThreaded: options.singleThreaded,
    },
    open: (handler, closed, permissions) =>
      openHandler(handler, {
        handler: handler.id,
        logger: adapters,
        now,
        elapsed: () => performance.now(),
        random: Math.random,
        signal: closed,
        stdout,
        stderr,
        scraped,
        conditions,
        pods,
        permissions,
        lost: (records, reason) => metrics.lost(handler.id, reason, records),
      }),
    onChange: ({ rules, handlers, instances, problems }) =>
      metrics.configured({ rules: rules.size, handlers: handlers.size, instances: instances.size, problems: problems.length }),
    timers: systemTimers,
    sleep: async (ms) => {
      await sleep(ms, undefined, { signal }).catch(() => {});
    },
    logger: logging.scope('default'),
    signal,
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
