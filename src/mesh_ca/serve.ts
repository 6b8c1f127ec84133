/** The running authority: joins the signing key, what is followed, the gRPC server and the regular upkeep. */

import { setInterval } from 'node:timers/promises';
import { createHealthService } from '../io/grpc/health.ts';
import { createGrpcServer } from '../io/grpc/server.ts';
import type { Host } from '../io/host.ts';
import { createJwksFetcher, systemFetchClock } from '../io/jwks/fetcher.ts';
import { createTokenVerifier } from '../io/jwks/verify-token.ts';
import type { Logger } from '../io/log/logger.ts';
import { keepLivenessFile } from '../io/probe/liveness-file.ts';
import { describeCertificate } from '../io/x509/chain.ts';
import { seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { kindsFor } from '../model/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { type Authority, intermediatePems, rootPem } from './authority.ts';
import { CA_SERVICE_ACCOUNT, type CaConfig } from './config.ts';
import { logExpiry, statusText } from './expiry.ts';
import type { LiveAuthority } from './live-authority.ts';
import { followNamespaces } from './publish-root.ts';
import { selfCheck } from './self-check.ts';
import { createServerIdentity, type ServerIdentity } from './server-identity.ts';
import { caMethods } from './services.ts';
import { followSettings, type Settings } from './settings.ts';
import { newSerial, openAuthority } from './source.ts';

const UPKEEP = seconds(60);
const UPKEEPS_A_DAY = (24 * 3600 * 1000) / UPKEEP;
/** Calls that run get this long at shutdown. */
const SHUTDOWN_GRACE_MS = 5_000;
/** Certificate signing requests are small. */
const MAX_MESSAGE_SIZE = 72 * 1024;

/** Serves until the host's signal is aborted. */
export async function serve(config: CaConfig, store: ObjectStore, host: Host, logger: Logger): Promise<void> {
  // What is followed ends with the server, also when it fails to start.
  const stop = new AbortController();
  const signal = AbortSignal.any([host.signal, stop.signal]);
  try {
    const settings = follow(config, store, host, logger, signal);
    await settings.synced;
    const { trustDomain } = settings;
    const { authority, keepUp: keepAuthorityUp } = await openAuthority({ config, store, host, trustDomain, logger, signal });
    requireRoomBelow(config, authority.current());
    logExpiry(authority.current(), host.now(), logger);
    const kinds = kindsFor(host.names);
    const only = config.listenedNamespace === undefined ? undefined : [config.listenedNamespace];
    const publisher = followNamespaces({ store, kinds, rootPem: () => rootPem(authority.current()), only, logger, signal });
    const server = await startServer(config, authority, settings, host, logger);
    authority.onChange(() => {
      logExpiry(authority.current(), host.now(), logger);
      void publisher.publish();
      void server?.identity.renewIfDue();
    });
    const living = keepAlive({ config, authority, settings, server }, host, logger, signal);
    await keepUp(signal, async (round) => {
      await keepAuthorityUp();
      await publisher.publish();
      await server?.identity.renewIfDue();
      if (round % UPKEEPS_A_DAY === 0) logExpiry(authority.current(), host.now(), logger);
    });
    logger.info('shutting down');
    await Promise.all([living, server?.close()]);
  } catch (thrown) {
    // Stopped while it waited for its own certificate.
    if (!host.signal.aborted) throw thrown;
  } finally {
    stop.abort();
  }
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
  { config, authority, settings, server }: Running,
  { now }: Host,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { liveness, storageNamespace: namespace } = config;
  if (liveness === undefined) return;
  await keepLivenessFile({
    ...liveness,
    title: 'the certificate authority',
    content: () => `ok\n${statusText(authority.current(), now())}`,
    check: () =>
      selfCheck({
        authority: authority.current(),
        identity: { trustDomain: settings.trustDomain(), namespace, serviceAccount: CA_SERVICE_ACCOUNT },
        server: server && { port: server.port, name: ownName(config) },
        now: now(),
        newSerial,
        signal,
      }),
    logger,
    signal,
  });
}

/** One that stands in the server's certificate. */
function ownName({ grpc }: CaConfig): string {
  const names = grpc?.names ?? [];
  return (names.find(({ type }) => type === 'dns') ?? names[0])?.value ?? '';
}

interface Running {
  readonly config: CaConfig;
  readonly authority: LiveAuthority;
  readonly settings: Settings;
  readonly server: RunningServer | undefined;
}

interface RunningServer {
  readonly port: number;
  readonly identity: ServerIdentity;
  close(): Promise<void>;
}

async function startServer(
  { grpc, limits, grace }: CaConfig,
  authority: LiveAuthority,
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
  const tls = { certificate: () => identity.current(), clientRoots: () => clientRoots(authority.current()) };
  const server = createGrpcServer({ methods: [...methods, ...health.methods], maxMessageSize: MAX_MESSAGE_SIZE, tls }, logger);
  await server.listen({ host: '', port: grpc.port });
  health.set('', 'serving');
  logger.info('serving certificate requests', { port: server.port, trustDomain: settings.trustDomain() });
  return {
    identity,
    port: server.port,
    async close() {
      health.set('', 'not_serving');
      await server.close(SHUTDOWN_GRACE_MS);
    },
  };
}

/** The intermediates too: clients may show a certificate of ours without what stands above it. They are no trust anchors to OpenSSL. */
function clientRoots(authority: Authority): string {
  return [rootPem(authority), ...intermediatePems(authority)].join('');
}

/** Throws `usage` when other authorities could not stand below this one. */
function requireRoomBelow({ limits }: CaConfig, { depthBelow, certificate }: Authority): void {
  if (limits.certificateAuthorities.length === 0 || depthBelow >= 1) return;
  throw new MeshError(
    'usage',
    `flag --sign-ca-certs: the path length of ${describeCertificate(certificate)} or above it allows no certificate authority below it`,
  );
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
