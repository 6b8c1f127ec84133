/** Serves discovery: inputs are followed into snapshots, and snapshots are delivered, shown and counted. */
import { hash } from 'node:crypto';
import { createAdsMethods } from '../delivery/ads.ts';
import { createFetchMethods } from '../delivery/fetch.ts';
import type { ConfigSource, DeliveryEvent } from '../delivery/ports.ts';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import type { LogScopes } from '../io/log/scopes.ts';
import { scopesPage } from '../io/log/scopes-page.ts';
import { profilePages } from '../io/profile/pages.ts';
import { startProfiler } from '../io/profile/profiler.ts';
import { buildInfo, shortVersion } from '../lib/version.ts';
import type { OpenedStore } from '../sources/store/open.ts';
import { createTranslator, type Translator } from '../xds/translate.ts';
import { type Admission, createAdmission, createIdentify } from './admission.ts';
import type { DiscoveryConfig } from './config.ts';
import { createCounter } from './counts.ts';
import { type DebugSources, debugHandler } from './debug.ts';
import { createDebugAccess } from './debug-access.ts';
import { createFeedback, type Feedback } from './feedback.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createMixsProblemLog } from './mixs-problem-log.ts';
import { monitoringHandler, type Pages } from './monitoring.ts';
import { pagesHandler } from './pages.ts';
import { createPipeline, type Pipeline } from './pipeline.ts';
import { changesAcknowledgements } from './policy-report.ts';
import { Proxies } from './proxies.ts';
import { Publisher } from './publisher.ts';
import { createRestDiscovery, type RestDiscovery } from './rest.ts';
import { type ServedTls, serveTls } from './served-tls.ts';
import { type Servers, startServers } from './servers.ts';
import { startStatusWriter } from './start-status-writer.ts';
import { startValidation } from './start-validation.ts';
import type { StatusWriter } from './status-writer.ts';
import { dumpConfiguration, dumpResources, type SummarySources, summarisePush, summariseSnapshot } from './summary.ts';
import type { Validation } from './validation.ts';

/** Running streams get this long to end by themselves at shutdown. */
const SHUTDOWN_GRACE_MS = 2_000;
/** How often unanswered pushes are looked for. */
const CHECK_MS = 5_000;

export interface Stores {
  readonly registry: OpenedStore;
  readonly config: OpenedStore;
}

export interface Loggers {
  readonly main: Logger;
  readonly ads: Logger;
  readonly scopes: LogScopes;
}

interface Setting {
  readonly config: DiscoveryConfig;
  readonly stores: Stores;
  readonly host: Host;
  readonly loggers: Loggers;
  readonly signal: AbortSignal;
}

/** Serves until the host's signal. Rejects with a MeshError when it cannot begin. */
export async function serve(setting: Omit<Setting, 'signal'>): Promise<void> {
  // Whatever ends the serving, a port in use included, ends what follows the stores too.
  const stop = new AbortController();
  try {
    await serveUntilAborted({ ...setting, signal: AbortSignal.any([setting.host.signal, stop.signal]) });
  } finally {
    stop.abort();
  }
}

async function serveUntilAborted(setting: Setting): Promise<void> {
  const { config, loggers, signal } = setting;
  const state = trackState(setting);
  const pipeline = await followInputs(setting, state);
  let validation: Validation | undefined;
  const tls = await serveTls({
    files: config.tls,
    namespace: config.namespace,
    logger: loggers.main,
    signal,
    onUse: () => validation?.refresh(),
  });
  const servers = await openServers(setting, state, pipeline, tls);
  try {
    await Promise.race([pipeline.start(), aborted(signal)]);
    if (signal.aborted) return;
    await servers.serveDiscovery();
    validation = await validate(setting, state, pipeline, tls);
    await aborted(signal);
  } finally {
    loggers.main.info('stopping');
    await Promise.all([servers.close(SHUTDOWN_GRACE_MS), validation?.close(SHUTDOWN_GRACE_MS)]);
  }
}

/** What is known of the mesh and of its proxies. */
interface State {
  readonly translator: Translator;
  readonly publisher: Publisher;
  readonly proxies: Proxies;
  readonly metrics: Metrics;
  readonly feedback: Feedback;
  readonly status: StatusWriter;
  /** To be told what deliveries come to. */
  readonly observe: (event: DeliveryEvent) => void;
}

function trackState({ config, stores, host, loggers, signal }: Setting): State {
  const translator = createTranslator({ hash: (bytes) => hash('sha1', bytes, 'base64url') });
  const publisher = new Publisher(translator);
  const proxies = new Proxies(host.now);
  const metrics = createMetrics(shortVersion(buildInfo));
  const onRejections = (): void => status.touch();
  const feedback = createFeedback({ publisher, proxies, metrics, logger: loggers.ads, now: host.now, onRejections });
  const sources = { publisher, proxies, feedback, host, logger: loggers.main, signal };
  const status = startStatusWriter(config, stores.config, sources);
  const checking = setInterval(feedback.check, CHECK_MS);
  signal.addEventListener('abort', () => clearInterval(checking), { once: true });
  const observe = (event: DeliveryEvent): void => {
    feedback.observe(event);
    if (changesAcknowledgements(event)) status.touch();
  };
  return { translator, publisher, proxies, metrics, feedback, status, observe };
}

function followInputs({ config, stores, host, loggers, signal }: Setting, state: State): Promise<Pipeline> {
  const { publisher, feedback, status, metrics } = state;
  const tellOfMixs = createMixsProblemLog(loggers.main);
  return createPipeline({
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
}

async function openServers(setting: Setting, state: State, pipeline: Pipeline, tls: ServedTls): Promise<Servers> {
  const { config, host, loggers, signal } = setting;
  const { publisher, metrics, observe } = state;
  const identify = createIdentify({ now: host.now, spiffeIdOf: tls.spiffeIdOf });
  const snapshot = () => publisher.snapshot;
  const admit = createAdmission({ snapshot, identify });
  const source = await deliveredSource(setting, state);
  const { discoveryCache: cached } = config;
  const rest = createRestDiscovery({ source, cached, admit, observe, onCacheRead: metrics.cacheRead, signal });
  const access = createDebugAccess({ snapshot, identify, admit, namespace: config.namespace });
  return await startServers({
    config,
    methods: adsMethods(setting, state, source, admit),
    pages: pagesHandler({
      rest: rest.handle,
      debug: debugHandler({ access, ...debugSources(setting, state, pipeline, source, rest) }),
      waitingFor: pipeline.inputs.waitingFor,
    }),
    monitoring: monitoringHandler(metrics, refresher(state, pipeline), await monitoringPages(setting)),
    tls: tls.material,
    logger: loggers.main,
  });
}

function adsMethods({ loggers, signal }: Setting, { observe }: State, source: ConfigSource, admit: Admission) {
  return [...createAdsMethods({ source, admit, observe, logger: loggers.ads, signal }), ...createFetchMethods({ source, admit })];
}

/** What is delivered: what was published, after the webhook, if there is one, has seen it. */
async function deliveredSource({ config, loggers, signal }: Setting, { publisher, metrics }: State): Promise<ConfigSource> {
  const { webhook: endpoint } = config;
  if (endpoint === undefined) return publisher;
  const { withWebhook } = await import('./webhook.ts');
  return withWebhook({ endpoint, source: publisher, onResult: metrics.webhookCalled, logger: loggers.main, signal });
}

function debugSources({ stores }: Setting, state: State, pipeline: Pipeline, source: ConfigSource, rest: RestDiscovery) {
  const { translator, publisher, proxies, feedback } = state;
  const summarySources: SummarySources = {
    publisher,
    proxies,
    problems: () => [...stores.registry.problems(), ...pipeline.inputs.problems()],
    translationProblems: translator.problems,
    rejections: () => feedback.rejected.list(),
    pushedAt: feedback.pushedAt,
  };
  return {
    proxies,
    snapshot: () => publisher.snapshot,
    summary: () => summariseSnapshot(summarySources),
    pushStatus: () => summarisePush(summarySources),
    configDump: (proxy) => dumpConfiguration(source, proxy.node),
    resources: (node, typeUrl) => dumpResources(source, node, typeUrl),
    push: () => publisher.resend(),
    cacheStats: rest.cacheStats,
    remoteClusters: pipeline.inputs.remoteClusters,
  } satisfies Omit<DebugSources, 'access'>;
}

/** Brings the metrics that are counted when they are read up to date. */
function refresher({ publisher, metrics }: State, pipeline: Pipeline): () => void {
  const countsOf = createCounter();
  return () => {
    metrics.snapshot(countsOf(publisher.snapshot));
    metrics.remoteClusters(pipeline.inputs.remoteClusters().map(({ state }) => state));
  };
}

async function monitoringPages({ config, host, loggers, signal }: Setting): Promise<readonly Pages[]> {
  const profiler = config.profile ? await startProfiler(host.now, signal) : undefined;
  return [(request) => scopesPage(loggers.scopes, request), (request) => profilePages(profiler, request)];
}

function validate(setting: Setting, state: State, pipeline: Pipeline, tls: ServedTls): Promise<Validation | undefined> {
  const { config, stores, host, loggers, signal } = setting;
  const { publisher, metrics } = state;
  return startValidation(config, stores.config, {
    stored: () => pipeline.inputs.current().policies,
    snapshot: () => publisher.snapshot,
    tls: tls.files,
    onReview: metrics.policyReviewed,
    host,
    logger: loggers.main,
    signal,
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
