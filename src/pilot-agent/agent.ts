import type { Writable } from 'node:stream';
import { createGrpcServer } from '../io/grpc/server.ts';
import type { GrpcServer } from '../io/grpc/types.ts';
import type { HttpServer } from '../io/http/types.ts';
import type { Logger } from '../io/log/logger.ts';
import type { LogScopes } from '../io/log/scopes.ts';
import { MeshError } from '../lib/errors.ts';
import { printAddress } from './address.ts';
import { adminAt } from './admin.ts';
import { bootstrapFile, prepareConfigPath, removeOtherEpochs } from './bootstrap-file.ts';
import { type Bootstrap, readBootstrap } from './bootstrap-source.ts';
import { followCertificateFiles } from './certificate-files.ts';
import { identityRequester } from './certificate-request.ts';
import type { Clock } from './clock.ts';
import type { ProxyConfig } from './config.ts';
import { drainProxies } from './drain.ts';
import { requireBinary } from './envoy-process.ts';
import { followBootstrap } from './follow-bootstrap.ts';
import { AgentMetrics } from './metrics.ts';
import { probeApplication } from './probe-application.ts';
import { createProxyStarter, type ProxyStarter } from './proxy-starter.ts';
import { proxyReadiness, type Readiness } from './readiness.ts';
import { followRootFile } from './root-file.ts';
import { keepIdentityFresh } from './rotation.ts';
import { createScraper } from './scrape.ts';
import { secretMethods } from './sds.ts';
import { SecretHolder } from './secrets.ts';
import { createStatusServer, type StatusSource } from './status-server.ts';
import { type SupervisionEnd, Supervisor } from './supervisor.ts';
import { findTakenPort } from './taken-port.ts';
import { validateBootstrap, validateCandidate } from './validate.ts';

export interface AgentDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly scopes: LogScopes;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * Runs the sidecar until the signal aborts, then drains it. The proxy starts at once and waits itself for what needs
 * secrets; secrets come as soon as their files and the certificate authority are there. Rejects when the proxy cannot be
 * started; one that cannot be kept running is told by the result.
 */
export async function runAgent(config: ProxyConfig, deps: AgentDeps, signal: AbortSignal): Promise<SupervisionEnd> {
  await requireBinary(config.binaryPath);
  await prepareConfigPath(config.configPath);
  const bootstrap = await readBootstrap(config);
  if (config.bootstrap.kind !== 'generated') {
    const stopped = await validateCandidate(config, bootstrap, signal).then(
      () => false,
      (thrown: unknown) => {
        if (signal.aborted) return true;
        throw thrown;
      },
    );
    if (stopped) return { kind: 'stopped' };
  }
  const agent = new Agent(config, deps);
  const close = await agent.listen();
  try {
    return await agent.run(bootstrap, signal);
  } finally {
    await close();
  }
}

class Agent {
  readonly #config: ProxyConfig;
  readonly #deps: AgentDeps;
  readonly #holder = new SecretHolder();
  readonly #metrics = new AgentMetrics();
  /** Aborted when the sidecar ends, for whatever reason. */
  readonly #ending = new AbortController();

  constructor(config: ProxyConfig, deps: AgentDeps) {
    this.#config = config;
    this.#deps = deps;
  }

  /** Resolves with what closes the servers again. */
  async listen(): Promise<() => Promise<void>> {
    const { logger } = this.#deps;
    const servers: (GrpcServer | HttpServer)[] = [];
    const close = async (): Promise<void> => {
      await Promise.all(servers.map((server) => server.close(0)));
    };
    try {
      const secrets = createGrpcServer({ methods: secretMethods(this.#holder, logger) }, logger);
      await secrets.listen({ path: this.#config.sdsSocket, mode: 0o600 });
      servers.push(secrets);
      if (this.#config.statusPort !== 0) servers.push(await this.#listenForStatus());
      return close;
    } catch (thrown) {
      await close();
      throw thrown;
    }
  }

  async #listenForStatus(): Promise<HttpServer> {
    const { adminPort, addresses, appProbes, appScrape } = this.#config;
    const [address = ''] = addresses;
    const source: StatusSource = {
      readiness: () => this.#readiness(),
      metrics: () => this.#metrics.print(),
      allMetrics: createScraper({
        admin: adminAt(adminPort),
        application: appScrape === undefined ? undefined : { address, scrape: appScrape },
        metrics: this.#metrics,
        logger: this.#deps.logger,
      }),
      probe: (path, gone) => {
        const probe = appProbes.get(path);
        return probe === undefined ? undefined : probeApplication(probe, address, gone);
      },
      scopes: this.#deps.scopes,
      quit: () => this.#ending.abort(),
    };
    const server = createStatusServer(source, this.#deps.logger);
    const port = this.#config.statusPort;
    // Where the kernel has no IPv6 there is no `::` to listen on.
    await server.listen({ host: '::', port }).catch((thrown: unknown) => {
      if (MeshError.from(thrown).code === 'failed_precondition') throw thrown;
      return server.listen({ host: '0.0.0.0', port });
    });
    return server;
  }

  async run(bootstrap: Bootstrap, signal: AbortSignal): Promise<SupervisionEnd> {
    const begin = (): void => this.#ending.abort();
    signal.addEventListener('abort', begin, { once: true });
    if (signal.aborted) begin();
    const secretsEnd = new AbortController();
    const secrets = this.#keepSecrets(secretsEnd.signal);
    const starter = await createProxyStarter(this.#config, this.#deps);
    const supervisor = this.#supervisor(starter, bootstrap);
    const following = this.#followBootstrap(supervisor, bootstrap);
    try {
      const end = await supervisor.run(this.#ending.signal);
      await this.#drain(supervisor);
      return end;
    } finally {
      signal.removeEventListener('abort', begin);
      this.#ending.abort();
      secretsEnd.abort();
      await Promise.all([secrets, following]);
      await starter.cleanUp();
    }
  }

  async #drain({ running }: Supervisor<Bootstrap>): Promise<void> {
    if (running.length === 0) return;
    const { adminPort, prometheusPort, drainDuration, parentShutdownDuration } = this.#config;
    const { clock, logger } = this.#deps;
    logger.info('draining the proxy');
    const times = { drain: drainDuration, kill: parentShutdownDuration };
    await drainProxies(running, adminAt(adminPort), times, prometheusPort, clock, logger);
  }

  #supervisor(starter: ProxyStarter, bootstrap: Bootstrap): Supervisor<Bootstrap> {
    const { clock, logger } = this.#deps;
    const { configPath } = this.#config;
    let running = bootstrap;
    const supervisor: Supervisor<Bootstrap> = new Supervisor<Bootstrap>(
      {
        start: async (epoch, configuration) => {
          if (!starter.hot) await this.#drain(supervisor);
          const proxy = await starter.start(epoch, configuration);
          running = configuration;
          // Whatever else is there is of an agent that was killed.
          if (epoch === 0) await removeOtherEpochs(configPath, [epoch]);
          return proxy;
        },
        diagnose: (epoch) => validateBootstrap(this.#config, bootstrapFile(configPath, epoch, running), this.#ending.signal),
        obstacle: () => findTakenPort(this.#config),
        ended: (epochs) => {
          if (epochs.length > 0) void removeOtherEpochs(configPath, epochs);
        },
        clock,
        logger,
        metrics: this.#metrics,
      },
      bootstrap,
    );
    return supervisor;
  }

  #followBootstrap(supervisor: Supervisor<Bootstrap>, bootstrap: Bootstrap): Promise<void> {
    const { clock, logger } = this.#deps;
    const { signal } = this.#ending;
    return followBootstrap(
      this.#config,
      bootstrap,
      (candidate) => validateCandidate(this.#config, candidate, signal),
      (candidate) => supervisor.replace(candidate),
      clock,
      logger,
      signal,
    );
  }

  async #keepSecrets(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const { certificates, identity } = this.#config;
    switch (certificates.kind) {
      case 'authority': {
        logger.info('the certificate authority is asked for a certificate', { address: printAddress(certificates.address) });
        const request = identityRequester(certificates, identity, () => clock.now());
        await Promise.all([
          followRootFile(certificates.rootFile, this.#holder, clock, logger, signal),
          keepIdentityFresh({ request, holder: this.#holder, clock, random, logger, metrics: this.#metrics }, signal),
        ]);
        return;
      }
      case 'files':
        return followCertificateFiles(certificates, identity, this.#holder, this.#metrics, clock, logger, signal);
    }
  }

  async #readiness(): Promise<Readiness> {
    if (this.#ending.signal.aborted) return { ready: false, reason: 'the proxy is draining' };
    const { identity } = this.#holder.current;
    if (identity === undefined) return { ready: false, reason: 'there is no certificate yet' };
    if (identity.notAfter < this.#deps.clock.now()) return { ready: false, reason: 'the certificate has expired' };
    return proxyReadiness(adminAt(this.#config.adminPort), this.#config.inboundPort);
  }
}
