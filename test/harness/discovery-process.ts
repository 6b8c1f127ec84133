/** Runs pilot-discovery in this process, on a directory of manifests. */
import { PassThrough } from 'node:stream';
import type { Host } from '../../src/io/host.ts';
import { namesFor } from '../../src/lib/names.ts';
import { discoveryFlags } from '../../src/pilot-discovery/flags.ts';
import { run } from '../../src/pilot-discovery/main.ts';
import { freePort } from './plain-envoy.ts';

const defaults = Object.fromEntries(Object.entries(discoveryFlags).map(([name, flag]) => [name, flag.default]));

export interface DiscoveryPorts {
  readonly grpc: number;
  readonly http: number;
  readonly monitoring: number;
}

export class DiscoveryProcess {
  readonly ports: DiscoveryPorts;
  readonly exit: Promise<number>;
  readonly #stop = new AbortController();
  readonly #output = new PassThrough();
  #log = '';

  private constructor(
    ports: DiscoveryPorts,
    options: Readonly<Record<string, unknown>>,
    env: Readonly<Record<string, string>>,
    otherDefaults: Readonly<Record<string, unknown>>,
  ) {
    this.ports = ports;
    this.#output.on('data', (chunk: Buffer) => {
      this.#log += chunk.toString();
    });
    const host: Host = {
      env,
      stdin: process.stdin,
      stdout: this.#output,
      stderr: this.#output,
      cwd: process.cwd(),
      signal: this.#stop.signal,
      names: namesFor(env['MESH_DOMAIN'] ?? 'mesh.io'),
      now: () => new Date(),
    };
    const listening = { grpcAddr: `127.0.0.1:${ports.grpc}`, port: ports.http, monitoringPort: ports.monitoring };
    const invocation = {
      options: { ...defaults, ...otherDefaults, ...listening, ...options },
      given: new Set(Object.keys(options)),
      args: [],
    };
    this.exit = run(invocation as unknown as Parameters<typeof run>[0], host);
    this.exit.catch(() => {});
  }

  /** Resolves when it serves; rejects with what `run` rejects with. `otherDefaults`: of flags that nobody gives. */
  static async start(
    options: Readonly<Record<string, unknown>>,
    given?: DiscoveryPorts,
    env: Readonly<Record<string, string>> = {},
    otherDefaults: Readonly<Record<string, unknown>> = {},
  ): Promise<DiscoveryProcess> {
    const ports = given ?? { grpc: await freePort(), http: await freePort(), monitoring: await freePort() };
    const discovery = new DiscoveryProcess(ports, options, env, otherDefaults);
    await Promise.race([discovery.logged('serving discovery'), discovery.exit]);
    return discovery;
  }

  /** Resolves when a text stands in the log. */
  async logged(text: string): Promise<void> {
    while (!this.#log.includes(text)) await new Promise((resolve) => this.#output.once('data', resolve));
  }

  get log(): string {
    return this.#log;
  }

  page(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.ports.http}${path}`);
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.ports.monitoring}/metrics`)).text();
  }

  /** Stops it as SIGTERM does; the exit code. */
  stop(): Promise<number> {
    this.#stop.abort();
    return this.exit;
  }
}
