import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import { componentArguments } from './component-process.ts';
import { freePorts } from './free-port.ts';
import { loopbackCluster, mutualTlsListener } from './sidecar-resources.ts';
import { TestAuthority, TestRoot } from './test-authority.ts';
import { TestDiscovery } from './test-discovery.ts';

/** Waits until the condition holds; what it last threw is the failure. */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | undefined> | T | undefined,
  ms = 100_000,
): Promise<T> {
  const deadline = AbortSignal.timeout(ms);
  let last: unknown;
  while (!deadline.aborted) {
    try {
      const value = await condition();
      if (value !== undefined && value !== false) return value;
    } catch (thrown) {
      last = thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`never happened: ${what}`, { cause: last });
}

/** A workload on loopback: agent and real proxy as processes, with a certificate authority, discovery and application in the test. */
export class Sidecar {
  readonly root: TestRoot;
  readonly authority: TestAuthority;
  readonly discovery = new TestDiscovery();
  readonly folder: string;
  readonly ports: { readonly inbound: number; readonly admin: number; readonly status: number; readonly prometheus: number };
  /** Answers a request when the test says so, for `/slow`. */
  finishSlow: () => void = () => {};
  readonly slowArrived = Promise.withResolvers<void>();
  agent: ChildProcess | undefined;
  output = '';
  readonly #application: Server;

  private constructor(root: TestRoot, folder: string, ports: readonly number[]) {
    this.root = root;
    this.authority = new TestAuthority(root);
    this.folder = folder;
    const [inbound = 0, admin = 0, status = 0, prometheus = 0] = ports;
    this.ports = { inbound, admin, status, prometheus };
    this.#application = createServer((request, response) => {
      if (request.url !== '/slow') return void response.end('ok');
      this.finishSlow = () => response.end('finished');
      this.slowArrived.resolve();
    });
  }

  /** Everything around the agent, which itself is started by `start`. */
  static async prepare(): Promise<Sidecar> {
    const folder = await mkdtemp(join(tmpdir(), 'mesh-agent-'));
    const sidecar = new Sidecar(await TestRoot.create(), folder, await freePorts(4));
    await writeFile(sidecar.rootFile, sidecar.root.pem);
    await writeFile(sidecar.tokenFile, 'first-token\n');
    sidecar.#application.listen(0, '127.0.0.1');
    await once(sidecar.#application, 'listening');
    const { port } = sidecar.#application.address() as AddressInfo;
    sidecar.discovery.clusters.push(loopbackCluster('application', port));
    sidecar.discovery.listeners.push(mutualTlsListener('inbound', sidecar.ports.inbound, 'application'));
    await sidecar.authority.listen();
    await sidecar.discovery.listen();
    return sidecar;
  }

  get rootFile(): string {
    return join(this.folder, 'root-cert.pem');
  }

  get tokenFile(): string {
    return join(this.folder, 'token');
  }

  get applicationPort(): number {
    return (this.#application.address() as AddressInfo).port;
  }

  /** @param launcher a command that becomes the one that is given to it as arguments */
  start(
    options: Readonly<Record<string, unknown>> = {},
    environment: Readonly<Record<string, string>> = {},
    launcher: readonly string[] = [],
  ): ChildProcess {
    const all = {
      bootstrapv2: true,
      log_as_json: true,
      binaryPath: envoyPath(process.env),
      configPath: join(this.folder, 'proxy'),
      discoveryAddress: `127.0.0.1:${this.discovery.port}`,
      caAddress: `127.0.0.1:${this.authority.port}`,
      caRootFile: this.rootFile,
      tokenFile: this.tokenFile,
      proxyAdminPort: this.ports.admin,
      statusPort: this.ports.status,
      prometheusPort: this.ports.prometheus,
      inboundCapturePort: this.ports.inbound,
      concurrency: 1,
      ...options,
    };
    const pod = { POD_NAME: 'web-1', POD_NAMESPACE: 'foo', INSTANCE_IP: '127.0.0.1', SERVICE_ACCOUNT: 'web' };
    const env = { ...process.env, ...pod, ...environment };
    const component = componentArguments('pilot-agent', 'runProxy', 'proxyFlags', all);
    const [command = '', ...args] = [...launcher, process.execPath, ...component];
    const agent = spawn(command, args, {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [agent.stdout, agent.stderr]) stream.on('data', (chunk: Buffer) => (this.output += chunk));
    this.agent = agent;
    return agent;
  }

  /** The status of the readiness check; 0 when nobody answers. */
  async readiness(): Promise<number> {
    return fetch(`http://127.0.0.1:${this.ports.status}/healthz/ready`).then(
      (response) => response.status,
      () => 0,
    );
  }

  ready(): Promise<unknown> {
    return eventually('the sidecar is ready', async () => (await this.readiness()) === 200 || undefined);
  }

  /** Process ids that the agent says it started, the newest last. */
  proxyPids(): readonly number[] {
    return [...this.output.matchAll(/"message":"the proxy was started","pid":(\d+)/g)].map((match) => Number(match[1]));
  }

  async exited(): Promise<number | null> {
    const agent = this.agent;
    if (agent === undefined) return null;
    if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit');
    return agent.exitCode;
  }

  async stop(): Promise<void> {
    this.agent?.kill('SIGKILL');
    await this.exited();
    await eventually('the proxies are gone', () => this.proxyPids().every((pid) => !isRunning(pid)) || undefined);
    this.finishSlow();
    this.#application.closeAllConnections();
    this.#application.close();
    await this.authority.close();
    await this.discovery.close();
    await rm(this.folder, { recursive: true });
  }
}

/** Whether a process still does something; one that has ended and was not waited for yet does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
