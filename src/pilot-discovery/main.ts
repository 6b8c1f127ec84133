/** pilot-discovery: joins sources, model, xds and delivery, and serves the result. */
import { hash, randomUUID } from 'node:crypto';
import { createAdsMethods, systemTimer } from '../delivery/ads.ts';
import { createFetchMethods } from '../delivery/fetch.ts';
import type { ConfigSource, DeliveryEvent } from '../delivery/ports.ts';
import type { Invocation } from '../flags/table.ts';
import type { FollowedFiles } from '../io/file/follow-files.ts';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import type { LogScopes } from '../io/log/scopes.ts';
import { scopesPage } from '../io/log/scopes-page.ts';
import { createLogging } from '../io/log/winston.ts';
import { profilePages } from '../io/profile/pages.ts';
import { startProfiler } from '../io/profile/profiler.ts';
import type { Problem } from '../lib/errors.ts';
import { buildInfo, shortVersion } from '../lib/version.ts';
import { kindsFor } from '../model/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { type OpenedStore, openStore } from '../sources/store/open.ts';
import { createTranslator } from '../xds/translate.ts';
import { createAdmission, createIdentify } from './admission.ts';
import { type DiscoveryConfig, resolveConfig } from './config.ts';
import { createCounter } from './counts.ts';
import { debugHandler } from './debug.ts';
import { createDebugAccess } from './debug-access.ts';
import { createFeedback, type Feedback } from './feedback.ts';
import { DISCOVERY_SCOPES, type DiscoveryFlags } from './flags.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createMixsProblemLog } from './mixs-problem-log.ts';
import { monitoringHandler } from './monitoring.ts';
import { pagesHandler } from './pages.ts';
import { createPipeline } from './pipeline.ts';
import { changesAcknowledgements, createPolicyReports, isGone } from './policy-report.ts';
import type { PolicyReviewDeps } from './policy-review.ts';
import { Proxies } from './proxies.ts';
import { Publisher } from './publisher.ts';
import { createRestDiscovery } from './rest.ts';
import { serveTls } from './served-tls.ts';
import { startServers } from './servers.ts';
import { createStatusWriter, NO_STATUS, type StatusWriter } from './status-writer.ts';
import { createStoreProblemLog } from './store-problems.ts';
import { dumpConfiguration, dumpResources, summarisePush, summariseSnapshot } from './summary.ts';
import type { TlsMaterial } from './tls-material.ts';
import type { Validation } from './validation.ts';

/** Running streams get this long to end by themselves at shutdown. */
const SHUTDOWN_GRACE_MS = 2_000;
/** How often unanswered pushes are looked for. */
const CHECK_MS = 5_000;

/** Serves until the host's signal; gives the exit code. */
export async function run(invocation: Invocation<DiscoveryFlags>, host: Host): Promise<number> {
  const config = resolveConfig(invocation, host.env);
  const logging = await createLogging(invocation.options, host, DISCOVERY_SCOPES);
  try {
    const stores = openStores(config, host, logging.scope('default'));
    try {
      await serve(config, stores, host, { main: logging.scope('default'), ads: logging.scope('ads'), scopes: logging.scopes });
    } finally {
      await Promise.all(new Set([stores.registry.close(), stores.config.close()]));
    }
    return 0;
  } finally {
    await logging.close();
  }
}

interface Stores {
  readonly registry: OpenedStore;
  readonly config: OpenedStore;
}

function openStores(config: DiscoveryConfig, host: Host, logger: Logger): Stores {
  const { env, cwd, now, names } = host;
  const open = (path: string, flag: string): OpenedStore => {
    const onProblem = createStoreProblemLog(logger);
    return openStore(path, { flag, kinds: kindsFor(names), env, cwd, now, newUid: randomUUID, resync: config.resync, onProblem });
  };
  const registry = open(config.registryPath, '--orchconfig');
  return { registry, config: config.configPath === config.registryPath ? registry : open(config.configPath, '--configDir') };
}

interface Loggers {
  readonly main: Logger;
  readonly ads: Logger;
  readonly scopes: LogScopes;
}

async function serve(config: DiscoveryConfig, stores: Stores, host: Host, loggers: Loggers): Promise<void> {
  // Whatever ends the serving, a port in use included, ends what follows the stores too.
  const stop = new AbortController();
  const signal = AbortSignal.any([host.signal, stop.signal]);
  try {
    await serveUntil(signal, config, stores, host, loggers);
  } finally {
    stop.abort();
  }
}

async function serveUntil(
  signal: AbortSignal,
  config: DiscoveryConfig,
  stores: Stores,
  host: Host,
  loggers: Loggers,
): Promise<void> {
  const translator = createTranslator({ hash: (bytes) => hash('sha1', bytes, 'base64url') });
  const publisher = new Publisher(translator);
  const proxies = new Proxies(host.now);
  const metrics = createMetrics(shortVersion(buildInfo));
  const feedback = createFeedback({
    publisher,
    proxies,
    metrics,
    logger: loggers.ads,
    now: host.now,
    onRejections: () => status.touch(),
  });
  const status = statusWriterFor(config, stores.config, { publisher, proxies, feedback, host, logger: loggers.main, signal });
  const observe = (event: DeliveryEvent): void => {
    feedback.observe(event);
    if (changesAcknowledgements(event)) status.touch();
  };
  const checking = setInterval(feedback.check, CHECK_MS);
  signal.addEventListener('abort', () => clearInterval(checking), { once: true });
  const tellOfMixs = createMixsProblemLog(loggers.main);
  const pipeline = await createPipeline({
    config,
    registryStore: stores.registry,
    configStore: stores.config,
    names: host.names,
    env: host.env,
    now: host.now,
    publisher,
    onPublish: (since) => {
      feedback.onPublish(since);
      status.touch();
      tellOfMixs(publisher.snapshot);
    },
    onKeySetFetch: metrics.jwksFetched,
    logger: loggers.main,
    signal,
  });
  const problems = (): readonly Problem[] => [...stores.registry.problems(), ...pipeline.inputs.problems()];
  const tls = await serveTls({
    files: config.tls,
    namespace: config.namespace,
    logger: loggers.main,
    signal,
    onUse: () => validation?.refresh(),
  });
  const identify = createIdentify({ now: host.now, spiffeIdOf: tls.spiffeIdOf });
  const snapshot = () => publisher.snapshot;
  const admit = createAdmission({ snapshot, identify });
  const source = await sourceFor(config, publisher, metrics, loggers.main, signal);
  const rest = createRestDiscovery({
    source,
    cached: config.discoveryCache,
    admit,
    observe,
    onCacheRead: metrics.cacheRead,
    signal,
  });
  const summarySources = {
    publisher,
    proxies,
    problems,
    translationProblems: translator.problems,
    rejections: () => feedback.rejected.list(),
    pushedAt: feedback.pushedAt,
  };
  const countsOf = createCounter();
  let validation: Validation | undefined;
  const refresh = (): void => {
    metrics.snapshot(countsOf(publisher.snapshot));
    metrics.remoteClusters(pipeline.inputs.remoteClusters().map(({ state }) => state));
  };
  const profiler = config.profile ? await startProfiler(host.now, signal) : undefined;
  const servers = await startServers({
    config,
    methods: [
      ...createAdsMethods({ source, admit, observe, logger: loggers.ads, signal }),
      ...createFetchMethods({ source, admit }),
    ],
    pages: pagesHandler({
      rest: rest.handle,
      debug: debugHandler({
        access: createDebugAccess({ snapshot, identify, admit, namespace: config.namespace }),
        proxies,
        snapshot,
        summary: () => summariseSnapshot(summarySources),
        pushStatus: () => summarisePush(summarySources),
        configDump: (proxy) => dumpConfiguration(source, proxy.node),
        resources: (node, typeUrl) => dumpResources(source, node, typeUrl),
        push: () => publisher.resend(),
        cacheStats: rest.cacheStats,
        remoteClusters: pipeline.inputs.remoteClusters,
      }),
      waitingFor: pipeline.inputs.waitingFor,
    }),
    monitoring: monitoringHandler(metrics, refresh, [
      (request) => scopesPage(loggers.scopes, request),
      (request) => profilePages(profiler, request),
    ]),
    tls: tls.material,
    logger: loggers.main,
  });
  try {
    await Promise.race([pipeline.start(), aborted(signal)]);
    if (signal.aborted) return;
    await servers.serveDiscovery();
    const stored = () => pipeline.inputs.current().policies;
    validation = await validationFor(config, stores.config, {
      stored,
      snapshot,
      tls: tls.files,
      onReview: metrics.policyReviewed,
      host,
      logger: loggers.main,
      signal,
    });
    await aborted(signal);
  } finally {
    loggers.main.info('stopping');
    await Promise.all([servers.close(SHUTDOWN_GRACE_MS), validation?.close(SHUTDOWN_GRACE_MS)]);
  }
}

interface StatusSources {
  readonly publisher: Publisher;
  readonly proxies: Proxies;
  readonly feedback: Feedback;
  readonly host: Host;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

function statusWriterFor(config: DiscoveryConfig, store: ObjectStore, sources: StatusSources): StatusWriter {
  const { publisher, proxies, feedback, host, logger, signal } = sources;
  if (config.policyStatus === 'left') return NO_STATUS;
  const { policy, meshPolicy } = kindsFor(host.names);
  const reports = createPolicyReports();
  return createStatusWriter({
    store,
    kinds: [policy, meshPolicy],
    names: host.names,
    reports: () => {
      const { snapshot, sequence } = publisher;
      if (snapshot === undefined) return new Map();
      return reports({ snapshot, sequence, rejections: feedback.rejected.list(), proxies: proxies.list() });
    },
    isGone: (id) => isGone(publisher.snapshot, config, id),
    reporterId: config.reporterId,
    now: host.now,
    timer: systemTimer,
    logger,
    signal,
  });
}

interface ValidationSources extends Omit<PolicyReviewDeps, 'names'> {
  readonly tls: FollowedFiles<TlsMaterial> | undefined;
  readonly onReview: Metrics['policyReviewed'];
  readonly host: Host;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

async function validationFor(
  config: DiscoveryConfig,
  store: ObjectStore,
  { tls, onReview, host, logger, signal, ...sources }: ValidationSources,
): Promise<Validation | undefined> {
  if (config.validation === undefined || tls === undefined) return undefined;
  const { address, configuration } = config.validation;
  const { names } = host;
  const [{ serveValidation }, { createPolicyReview }] = await Promise.all([
    import('./validation.ts'),
    import('./policy-review.ts'),
  ]);
  const webhook = { kind: kindsFor(names).validatingWebhookConfiguration, configuration, entry: names.validationWebhookName };
  const decide = createPolicyReview({ names, ...sources });
  return serveValidation({ address, webhook, store, tls, decide, onReview, logger, signal });
}

/** What is delivered: what was published, after the webhook, if there is one, has seen it. */
async function sourceFor(
  config: DiscoveryConfig,
  publisher: Publisher,
  metrics: Metrics,
  logger: Logger,
  signal: AbortSignal,
): Promise<ConfigSource> {
  const { webhook: endpoint } = config;
  if (endpoint === undefined) return publisher;
  const { withWebhook } = await import('./webhook.ts');
  return withWebhook({ endpoint, source: publisher, onResult: metrics.webhookCalled, logger, signal });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
