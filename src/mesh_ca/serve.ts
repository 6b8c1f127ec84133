/** The running authority: joins the signing key, what is followed, the gRPC server and the regular upkeep. */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHealthService } from '../io/grpc/health.ts';
import { createGrpcServer } from '../io/grpc/server.ts';
import type { Host } from '../io/host.ts';
import { createJwksFetcher, systemFetchClock } from '../io/jwks/fetcher.ts';
import { createTokenVerifier, type TokenVerifier } from '../io/jwks/verify-token.ts';
import type { Logger } from '../io/log/logger.ts';
import { keepLivenessFile } from '../io/probe/liveness-file.ts';
import { describeCertificate } from '../io/x509/chain.ts';
import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { kindsFor } from '../model/kinds.ts';
import type { OpenedStore } from '../sources/store/open.ts';
import { type Authority, intermediatePems, rootPem } from './authority.ts';
import { CA_SERVICE_ACCOUNT, type CaConfig } from './config.ts';
import { distribute } from './distribution.ts';
import { joinElection } from './election.ts';
import { logExpiry, statusText } from './expiry.ts';
import { type Leadership, soleLeader } from './leadership.ts';
import type { LiveAuthority } from './live-authority.ts';
import { selfCheck } from './self-check.ts';
import { createServerIdentity, type ServerIdentity } from './server-identity.ts';
import { caMethods } from './services.ts';
import { followSettings, type Settings } from './settings.ts';
import { newSerial, openAuthority } from './source.ts';
import { createSpread } from './spread.ts';
import { DEFAULT_AUDIENCE } from './token-issuers.ts';
import { createTokenReviewer } from './token-review.ts';
import { verifyOrReview } from './token-verification.ts';

const LONGEST_PAUSE: Duration = seconds(60);
const SHORTEST_PAUSE: Duration = seconds(1);
/** Upkeeps in the life of what lives shortest, at least. */
const UPKEEPS_IN_A_LIFE = 60;
const DAY: Duration = seconds(24 * 3600);
/** Its holder leads. */
const LEASE = 'mesh-citadel';
/** Calls that run get this long at shutdown. */
const SHUTDOWN_GRACE_MS = 5_000;
/** Certificate signing requests are small. */
const MAX_MESSAGE_SIZE = 72 * 1024;

/** Serves until the host's signal is aborted. */
export async function serve(config: CaConfig, store: OpenedStore, host: Host, logger: Logger): Promise<void> {
  // What is followed ends with the server, also when it fails to start.
  const stop = new AbortController();
  const signal = AbortSignal.any([host.signal, stop.signal]);
  let resign = async (): Promise<void> => {};
  try {
    const settings = follow(config, store, host, logger, signal);
    await settings.synced;
    const { trustDomain } = settings;
    const leadership = join(config, store, host, logger, signal);
    resign = () => leadership.resign();
    const spread = createSpread();
    const shared = { config, store, host, leadership, logger, signal };
    const { authority, keepUp: keepAuthorityUp } = await openAuthority({ ...shared, trustDomain, missing: spread.missing });
    requireRoomBelow(config, authority.current());
    logExpiry(authority.current(), host.now(), logger);
    const distribution = distribute({ ...shared, authority, settings, spread });
    const verifyToken = tokenVerifier(store, logger, signal);
    const server = await startServer(config, authority, settings, verifyToken, host, logger);
    authority.onChange(() => {
      logExpiry(authority.current(), host.now(), logger);
      void server?.identity.renewIfDue();
    });
    const living = keepAlive({ config, authority, settings, server }, host, logger, signal);
    const daily = every(DAY, () => logExpiry(authority.current(), host.now(), logger));
    await keepUp(config, authority, signal, async () => {
      await keepAuthorityUp();
      await distribution.check();
      await server?.identity.renewIfDue();
      daily();
    });
    logger.info('shutting down');
    await Promise.all([living, server?.close()]);
  } catch (thrown) {
    // Stopped while it waited for its own certificate.
    if (!host.signal.aborted) throw thrown;
  } finally {
    stop.abort();
    await resign();
  }
}

/** Replicas on one API server elect the one that writes; a directory has one authority. */
function join(config: CaConfig, store: OpenedStore, host: Host, logger: Logger, signal: AbortSignal): Leadership {
  if (store.client === undefined) return soleLeader(signal);
  return joinElection({
    store,
    kinds: kindsFor(host.names),
    namespace: config.storageNamespace,
    name: LEASE,
    identity: `${hostname()}_${randomUUID()}`,
    now: host.now,
    uptime: () => milliseconds(performance.now()),
    random: Math.random,
    sleep: (time, abort) => sleep(time, undefined, { signal: abort }),
    logger,
    signal,
  });
}

function follow(config: CaConfig, store: OpenedStore, host: Host, logger: Logger, signal: AbortSignal): Settings {
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

/** Tokens of Kubernetes itself are reviewed by its API server. */
function tokenVerifier({ client }: OpenedStore, logger: Logger, signal: AbortSignal): TokenVerifier {
  const review =
    client &&
    createTokenReviewer({
      client,
      audience: DEFAULT_AUDIENCE,
      uptime: () => milliseconds(performance.now()),
      random: Math.random,
      logger,
      signal,
    });
  // What the API server says of a token is not remembered: it may end with a pod.
  return verifyOrReview(createTokenVerifier(), review);
}

async function startServer(
  { grpc, limits, grace }: CaConfig,
  authority: LiveAuthority,
  settings: Settings,
  verifyToken: TokenVerifier,
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
  const methods = caMethods({ authority, settings, limits, verifyToken, now, newSerial, logger });
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

/** Does what is to be done from time to time, until the signal is aborted; more often where certificates live for minutes. */
async function keepUp(
  { limits }: CaConfig,
  authority: LiveAuthority,
  signal: AbortSignal,
  run: () => Promise<void>,
): Promise<void> {
  try {
    for (;;) {
      const { validFromDate, validToDate } = authority.current().certificate;
      const shortest = Math.min(limits.defaultTtl, validToDate.getTime() - validFromDate.getTime());
      const pause = Math.max(SHORTEST_PAUSE, Math.min(LONGEST_PAUSE, shortest / UPKEEPS_IN_A_LIFE));
      await sleep(pause, undefined, { signal });
      await run();
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

/** Runs something when it is called, but only once in a while. */
function every(time: Duration, run: () => void): () => void {
  let last = performance.now();
  return () => {
    if (performance.now() - last < time) return;
    last = performance.now();
    run();
  };
}
