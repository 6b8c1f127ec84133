/** sidecar-injector: the webhook that adds the sidecar to new pods. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Invocation } from '../flags/table.ts';
import { MAX_REVIEW_BYTES } from '../io/admission/handler.ts';
import type { Host } from '../io/host.ts';
import { createHttpServer } from '../io/http/server.ts';
import { listenTls } from '../io/http/tls-listener.ts';
import type { Logger } from '../io/log/logger.ts';
import { createLogging } from '../io/log/winston.ts';
import { keepLivenessFile } from '../io/probe/liveness-file.ts';
import { ANY_HOST } from '../lib/address.ts';
import { seconds } from '../lib/duration.ts';
import { kindsFor } from '../model/kinds.ts';
import { type OpenedStore, openStore } from '../sources/store/open.ts';
import { createStoreProblemLog } from '../sources/store/problem-log.ts';
import { keepCaBundle } from '../sources/webhook-ca-bundle.ts';
import { followKeyPair, followRoots } from './certificates.ts';
import { type InjectorConfig, resolveConfig } from './config.ts';
import { followConfiguration } from './configuration.ts';
import type { InjectorFlags } from './flags.ts';
import { followNativeSidecars } from './native-sidecars.ts';
import { checkWebhook } from './self-check.ts';
import { injectHandler } from './webhook.ts';

const RESYNC = seconds(60);
/** Reviews that run get this long at shutdown. */
const SHUTDOWN_GRACE_MS = 5_000;

/** Serves until the host's signal; gives the exit code. */
export async function run(invocation: Invocation<InjectorFlags>, host: Host): Promise<number> {
  const config = resolveConfig(invocation, host);
  const logging = await createLogging(invocation.options, host);
  const logger = logging.scope('default');
  const stop = new AbortController();
  const signal = AbortSignal.any([host.signal, stop.signal]);
  try {
    const store = open(config, host, logger);
    try {
      await serve(config, store, host, logger, signal);
    } finally {
      stop.abort();
      await store.close();
    }
    return 0;
  } finally {
    await logging.close();
  }
}

function open(config: InjectorConfig, host: Host, logger: Logger): OpenedStore {
  const { env, cwd, now, names } = host;
  return openStore(config.webhook.storePath, {
    flag: '--orchconfig',
    kinds: kindsFor(names),
    env,
    cwd,
    now,
    newUid: randomUUID,
    resync: RESYNC,
    onProblem: createStoreProblemLog(logger),
  });
}

async function serve(config: InjectorConfig, store: OpenedStore, host: Host, logger: Logger, signal: AbortSignal): Promise<void> {
  const following = { logger, signal };
  const nativeSidecars = await followNativeSidecars({
    client: store.client,
    sleep: (time, until) => sleep(time, undefined, { signal: until, ref: false }),
    random: Math.random,
    ...following,
  });
  const context = await followConfiguration({ ...config, names: host.names, nativeSidecars, ...following });
  const roots = await followRoots(config.webhook.caFile, { ...following, onChange: () => bundle.use(roots()) });
  const keyPair = await followKeyPair(config.certificate, { ...following, onChange: () => listener.use(keyPair()) });

  const http = createHttpServer({
    handle: injectHandler(context, logger),
    maxBodySize: MAX_REVIEW_BYTES,
    onError: (error, request) => logger.error('a review failed', { path: request.path, error }),
  });
  const accept = http.accept.bind(http);
  const listener = await listenTls({ host: ANY_HOST, port: config.port, keyPair: keyPair(), accept, logger });
  const bundle = keepCaBundle(roots(), {
    store,
    kind: kindsFor(host.names).mutatingWebhookConfiguration,
    ...config.webhook,
    ...following,
  });
  logger.info('serving the injection webhook', { port: listener.port });
  const running = [aborted(signal)];
  if (config.health !== undefined) {
    const check = () => checkWebhook(listener.port, roots(), keyPair().leaf);
    const checkInterval = config.health.interval;
    running.push(keepLivenessFile({ ...config.health, checkInterval, title: 'the webhook', check, ...following }));
  }
  try {
    await Promise.race(running);
  } finally {
    logger.info('stopping');
    listener.close();
    await http.close(SHUTDOWN_GRACE_MS);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
