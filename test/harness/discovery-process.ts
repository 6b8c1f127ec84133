/** Runs pilot-discovery in this process, on a directory of manifests. */
import { discoveryFlags } from '../../src/pilot-discovery/flags.ts';
import { run } from '../../src/pilot-discovery/main.ts';
import { freePort } from './free-port.ts';
import { InProcess } from './in-process.ts';

const SERVING = 'serving discovery';

export interface DiscoveryPorts {
  readonly grpc: number;
  readonly http: number;
  readonly monitoring: number;
}

export class DiscoveryProcess {
  readonly ports: DiscoveryPorts;
  readonly #component: InProcess;

  private constructor(ports: DiscoveryPorts, component: InProcess) {
    this.ports = ports;
    this.#component = component;
  }

  /** Resolves when it serves; rejects with what `run` rejects with. `defaults`: of flags that nobody gives. */
  static async start(
    options: Readonly<Record<string, unknown>>,
    given?: DiscoveryPorts,
    env: Readonly<Record<string, string>> = {},
    defaults: Readonly<Record<string, unknown>> = {},
  ): Promise<DiscoveryProcess> {
    const ports = given ?? { grpc: await freePort(), http: await freePort(), monitoring: await freePort() };
    const discovery = DiscoveryProcess.begin(options, ports, env, defaults);
    await discovery.serving();
    return discovery;
  }

  /** Starts it and waits for nothing. */
  static begin(
    options: Readonly<Record<string, unknown>>,
    ports: DiscoveryPorts,
    env: Readonly<Record<string, string>> = {},
    defaults: Readonly<Record<string, unknown>> = {},
  ): DiscoveryProcess {
    const listening = { grpcAddr: `127.0.0.1:${ports.grpc}`, port: ports.http, monitoringPort: ports.monitoring };
    const surroundings = { env, defaults: { ...defaults, ...listening } };
    return new DiscoveryProcess(ports, InProcess.begin(run, discoveryFlags, options, surroundings));
  }

  /** Resolves when it serves; rejects with what `run` rejects with. */
  async serving(): Promise<void> {
    await this.#component.when(SERVING);
  }

  get exit(): Promise<number> {
    return this.#component.exit;
  }

  /** Resolves when a text stands in the log. */
  logged(text: string): Promise<void> {
    return this.#component.logged(text);
  }

  get log(): string {
    return this.#component.log;
  }

  page(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.ports.http}${path}`);
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.ports.monitoring}/metrics`)).text();
  }

  /** Stops it as SIGTERM does; the exit code. */
  stop(): Promise<number> {
    return this.#component.stop();
  }
}
