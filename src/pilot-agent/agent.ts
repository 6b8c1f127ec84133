import type { Writable } from 'node:stream';
import { createGrpcServer } from '../io/grpc/server.ts';
import type { GrpcServer } from '../io/grpc/types.ts';
import type { HttpServer } from '../io/http/types.ts';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import { adminAt } from './admin.ts';
import { buildBootstrap } from './bootstrap.ts';
import { writeBootstrap } from './bootstrap-file.ts';
import { identityRequester } from './certificate-request.ts';
import type { Clock } from './clock.ts';
import { type ProxyConfig, printAddress } from './config.ts';
import { drainProxy } from './drain.ts';
import { envoyArguments } from './envoy-arguments.ts';
import { canTieToParent, requireBinary, startEnvoy } from './envoy-process.ts';
import { AgentMetrics } from './metrics.ts';
import { proxyReadiness, type Readiness } from './readiness.ts';
import { followRootFile } from './root-file.ts';
import { keepIdentityFresh } from './rotation.ts';
import { secretMethods } from './sds.ts';
import { SecretHolder } from './secrets.ts';
import { createStatusServer } from './status-server.ts';
import { Supervisor } from './supervisor.ts';
import { validateBootstrap } from './validate.ts';

export interface AgentDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * Runs the sidecar until the signal aborts, then drains it. The proxy starts at once and waits itself for what needs
 * secrets; secrets come as soon as the root file and the certificate authority are there. Rejects when the proxy cannot run.
 */
export async function runAgent(config: ProxyConfig, deps: AgentDeps, signal: AbortSignal): Promise<void> {
  await requireBinary(config.binaryPath);
  await writeBootstrap(config.bootstrapFile, buildBootstrap(config));
  const agent = new Agent(config, deps);
  const close = await agent.listen();
  try {
    await agent.run(signal);
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
    const source = {
      readiness: () => this.#readiness(),
      metrics: () => this.#metrics.print(),
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

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const begin = (): void => this.#ending.abort();
    signal.addEventListener('abort', begin, { once: true });
    if (signal.aborted) begin();
    const secretsEnd = new AbortController();
    const secrets = this.#keepSecrets(secretsEnd.signal);
    const tied = await canTieToParent();
    if (!tied) logger.warn('setpriv is not installed: a killed agent leaves its proxy behind');
    const supervisor = this.#supervisor(tied);
    try {
      await supervisor.run(this.#ending.signal);
      logger.info('draining the proxy');
      const proxy = supervisor.running;
      const times = { drain: this.#config.drainDuration, kill: this.#config.parentShutdownDuration };
      if (proxy !== undefined)
        await drainProxy(proxy, adminAt(this.#config.adminPort), times, this.#config.prometheusPort, clock, logger);
    } finally {
      signal.removeEventListener('abort', begin);
      this.#ending.abort();
      secretsEnd.abort();
      await secrets;
    }
  }

  #supervisor(tied: boolean): Supervisor {
    const { binaryPath, bootstrapFile } = this.#config;
    const { clock, logger } = this.#deps;
    return new Supervisor({
      start: () => startEnvoy(binaryPath, envoyArguments(this.#config), this.#deps, tied),
      diagnose: () => validateBootstrap(binaryPath, bootstrapFile),
      clock,
      logger,
      metrics: this.#metrics,
    });
  }

  async #keepSecrets(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const { ca } = this.#config;
    logger.info('the certificate authority is asked for a certificate', { address: printAddress(ca.address) });
    const request = identityRequester(this.#config, () => clock.now());
    await Promise.all([
      followRootFile(ca.rootFile, this.#holder, clock, logger, signal),
      keepIdentityFresh({ request, holder: this.#holder, clock, random, logger, metrics: this.#metrics }, signal),
    ]);
  }

  async #readiness(): Promise<Readiness> {
    if (this.#ending.signal.aborted) return { ready: false, reason: 'the proxy is draining' };
    const { identity } = this.#holder.current;
    if (identity === undefined) return { ready: false, reason: 'there is no certificate yet' };
    if (identity.notAfter < this.#deps.clock.now()) return { ready: false, reason: 'the certificate has expired' };
    return proxyReadiness(adminAt(this.#config.adminPort), this.#config.inboundPort);
  }
}
