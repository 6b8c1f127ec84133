/** The running authority: joins the signing key, what is followed, the gRPC server and the regular upkeep. */

import { randomBytes } from 'node:crypto';
import { setInterval } from 'node:timers/promises';
import { createHealthService } from '../io/grpc/health.ts';
import { createGrpcServer } from '../io/grpc/server.ts';
import type { Host } from '../io/host.ts';
import { createJwksFetcher, systemFetchClock } from '../io/jwks/fetcher.ts';
import { createTokenVerifier } from '../io/jwks/verify-token.ts';
import type { Logger } from '../io/log/logger.ts';
import { keepLivenessFile } from '../io/probe/liveness-file.ts';
import { seconds } from '../lib/duration.ts';
import { kindsFor } from '../model/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { type Authority, rootPem } from './authority.ts';
import type { CaConfig } from './config.ts';
import { logExpiry } from './expiry.ts';
import { openPluggedIn } from './plugged-in.ts';
import { followNamespaces } from './publish-root.ts';
import { selfCheck } from './self-check.ts';
import { openSelfSigned } from './self-signed.ts';
import { createServerIdentity, type ServerIdentity } from './server-identity.ts';
import { caMethods } from './services.ts';
import { followSettings, type Settings } from './settings.ts';

const UPKEEP = seconds(60);
const UPKEEPS_A_DAY = (24 * 3600 * 1000) / UPKEEP;
/** Calls that run get this long at shutdown. */
const SHUTDOWN_GRACE_MS = 5_000;
/** Certificate signing requests are small. */
const MAX_MESSAGE_SIZE = 256 * 1024;
const SERIAL_BYTES = 16;

const newSerial = (): Uint8Array => randomBytes(SERIAL_BYTES);

/** Serves until the host's signal is aborted. */
export async function serve(config: CaConfig, store: ObjectStore, host: Host, logger: Logger): Promise<void> {
  // What is followed ends with the server, also when it fails to start.
  const stop = new AbortController();
  const signal = AbortSignal.any([host.signal, stop.signal]);
  try {
    const authority = await openAuthority(config, store, host, logger);
    logExpiry(authority, host.now(), logger);
    const kinds = kindsFor(host.names);
    const only = config.listenedNamespace === undefined ? undefined : [config.listenedNamespace];
    const publisher = followNamespaces({ store, kinds, rootPem: rootPem(authority), only, logger, signal });
    const settings = follow(config, store, host, logger, signal);
    await settings.synced;
    const server = await startServer(config, authority, settings, host, logger);
    const living = keepAlive(config, authority, host, logger, signal);
    await keepUp(signal, async (round) => {
      await publisher.publish();
      await server?.identity.renewIfDue();
      if (round % UPKEEPS_A_DAY === 0) logExpiry(authority, host.now(), logger);
    });
    logger.info('shutting down');
    await Promise.all([living, server?.close()]);
  } finally {
    stop.abort();
  }
}

function openAuthority(
  { source, storageNamespace }: CaConfig,
  store: ObjectStore,
  host: Host,
  logger: Logger,
): Promise<Authority> {
  if (source.type === 'plugged-in') return openPluggedIn(source.files, host.now());
  const { names, now } = host;
  return openSelfSigned({ ...source, store, kinds: kindsFor(names), names, namespace: storageNamespace, now, newSerial, logger });
}

function follow(config: CaConfig, store: ObjectStore, host: Host, logger: Logger, signal: AbortSignal): Settings {
  const keySets = createJwksFetcher({
    fetch: (url, init) => fetch(url, init),
    clock: systemFetchClock,
    random: Math.random,
    logger,
    signal,
    onChange: () => {},
  });
  return followSettings({ store, namespace: config.storageNamespace, names: host.names, keySets, logger, signal });
}

async function keepAlive(
  { liveness }: CaConfig,
  authority: Authority,
  { now }: Host,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (liveness === undefined) return;
  await keepLivenessFile({
    ...liveness,
    title: 'the certificate authority',
    check: () => selfCheck(authority, now, newSerial),
    logger,
    signal,
  });
}

interface RunningServer {
  readonly identity: ServerIdentity;
  close(): Promise<void>;
}

async function startServer(
  { grpc, limits, grace }: CaConfig,
  authority: Authority,
  settings: Settings,
  { now }: Host,
  logger: Logger,
): Promise<RunningServer | undefined> {
  if (grpc === undefined) {
    logger.info('no gRPC requests are served, as --grpc-port is 0');
    return undefined;
  }
  const identity = await createServerIdentity({
    authority,
    names: grpc.names,
    ttl: limits.defaultTtl,
    grace,
    now,
    newSerial,
    logger,
  });
  const health = createHealthService();
  const methods = caMethods({ authority, settings, limits, verifyToken: createTokenVerifier(), now, newSerial, logger });
  const roots = rootPem(authority);
  const tls = { certificate: () => identity.current(), clientRoots: () => roots };
  const server = createGrpcServer({ methods: [...methods, ...health.methods], maxMessageSize: MAX_MESSAGE_SIZE, tls }, logger);
  await server.listen({ host: '', port: grpc.port });
  health.set('', 'serving');
  logger.info('serving certificate requests', { port: server.port, trustDomain: settings.trustDomain() });
  return {
    identity,
    async close() {
      health.set('', 'not_serving');
      await server.close(SHUTDOWN_GRACE_MS);
    },
  };
}

/** Runs something from time to time until the signal is aborted. */
async function keepUp(signal: AbortSignal, run: (round: number) => Promise<void>): Promise<void> {
  let round = 0;
  try {
    for await (const _ of setInterval(UPKEEP, undefined, { signal })) {
      round += 1;
      await run(round);
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}
