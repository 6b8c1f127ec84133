/** A real Kubernetes API server with etcd and the controller manager, on loopback, for tests and for trying things out. */
import { rmSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessIdentity } from '../../src/lab/process-identity.ts';
import { apiServerArguments, controllerManagerArguments, EGRESS, EGRESS_SOCKET, etcdArguments } from './arguments.ts';
import { clusterFiles, writeCredentials } from './credentials.ts';
import { kill, type Lifetime, lastWords, type Program, start } from './processes.ts';
import type { ClusterPrograms } from './programs.ts';

const READY_LIMIT_MS = 90_000;
const POLL_MS = 50;
const CALL_LIMIT_MS = 5_000;
/** Somebody else may take a free port before the API server does. */
const PORT_TRIES = 3;

export interface Cluster {
  readonly directory: string;
  readonly kubeconfig: string;
  /** Where the API server looks for webhooks that are services: `mesh lab up --egress-socket`. */
  readonly egressSocket: string;
  /** `https://127.0.0.1:PORT`. */
  readonly server: string;
  processes(): readonly ProcessIdentity[];
  /** Ends the API server alone, as a crash would. */
  killApiServer(): void;
  /** Starts it again, where it was. */
  startApiServer(): Promise<void>;
  /** Ends everything and removes the directory; without an event loop, so that it can be the last that a process does. */
  stop(): void;
}

export interface ClusterOptions {
  readonly programs: ClusterPrograms;
  /** Made for this cluster; removed with it. */
  readonly directory: string;
  readonly lifetime: Lifetime;
  /** Called whenever another process was started. */
  readonly onStart?: (cluster: Cluster) => void;
}

/** Resolves when the API server is ready and the controllers work. Leaves nothing behind when it rejects. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  for (let attempt = 1; ; attempt += 1) {
    const cluster = new RunningCluster(options, await freePort());
    try {
      await cluster.start();
      return cluster;
    } catch (error) {
      const retry = attempt < PORT_TRIES && error instanceof Error && error.message.includes('address already in use');
      cluster.stop();
      if (!retry) throw error;
    }
  }
}

class RunningCluster implements Cluster {
  readonly server: string;
  readonly #options: ClusterOptions;
  readonly #port: number;
  readonly #running = new Map<string, ProcessIdentity>();

  constructor(options: ClusterOptions, port: number) {
    this.#options = options;
    this.#port = port;
    this.server = `https://127.0.0.1:${port}`;
  }

  get directory(): string {
    return this.#options.directory;
  }

  get egressSocket(): string {
    return join(this.directory, EGRESS_SOCKET);
  }

  get kubeconfig(): string {
    return clusterFiles(this.directory).adminConfig;
  }

  processes(): readonly ProcessIdentity[] {
    return [...this.#running.values()];
  }

  async start(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    await writeCredentials(this.directory, this.server);
    await writeFile(clusterFiles(this.directory).egress, EGRESS);
    await this.#start(this.#programs.etcd);
    await this.startApiServer();
    await this.#start(this.#programs.controllerManager);
    // The last of what a new cluster needs: pods cannot be created before it is there.
    await this.#until('/api/v1/namespaces/default/serviceaccounts/default');
    await this.#until('/api/v1/namespaces/default/configmaps/kube-root-ca.crt');
  }

  async startApiServer(): Promise<void> {
    await this.#start(this.#programs.apiServer);
    await this.#until('/readyz');
  }

  killApiServer(): void {
    const { name } = this.#programs.apiServer;
    const running = this.#running.get(name);
    if (running === undefined) return;
    kill([running]);
    this.#running.delete(name);
  }

  stop(): void {
    kill(this.processes());
    this.#running.clear();
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  get #programs(): Readonly<Record<'etcd' | 'apiServer' | 'controllerManager', Program>> {
    const { programs } = this.#options;
    const files = clusterFiles(this.directory);
    return {
      etcd: { name: 'etcd', path: programs.etcd, args: etcdArguments() },
      apiServer: { name: 'kube-apiserver', path: programs.apiServer, args: apiServerArguments(files, this.#port) },
      controllerManager: {
        name: 'kube-controller-manager',
        path: programs.controllerManager,
        args: controllerManagerArguments(files),
      },
    };
  }

  async #start(program: Program): Promise<void> {
    this.#running.set(program.name, await start(program, this.directory, this.#options.lifetime));
    this.#options.onStart?.(this);
  }

  /** Waits until a path answers 200. */
  async #until(path: string): Promise<void> {
    const deadline = Date.now() + READY_LIMIT_MS;
    const credentials = await adminCredentials(this.kubeconfig);
    for (;;) {
      const answer = await statusOf(`${this.server}${path}`, credentials);
      if (answer === 200) return;
      for (const [name, process] of this.#running)
        if (!isRunning(process)) throw new Error(`${name} ended${lastWords(name, this.directory)}`);
      if (Date.now() > deadline) {
        const words = lastWords('kube-apiserver', this.directory);
        throw new Error(`${path} of the API server did not become ready in ${READY_LIMIT_MS / 1000} s (${answer})${words}`);
      }
      await sleep(POLL_MS);
    }
  }
}

interface AdminCredentials {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Reads back what writeCredentials wrote. */
async function adminCredentials(kubeconfig: string): Promise<AdminCredentials> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  const decode = (text: string): Buffer => Buffer.from(text, 'base64');
  const [{ cluster }] = config.clusters;
  const [{ user }] = config.users;
  return {
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  };
}

/** The HTTP status of a GET, or why there is none. */
function statusOf(url: string, credentials: AdminCredentials): Promise<number | string> {
  return new Promise((done) => {
    const call = request(url, { ...credentials, agent: false, timeout: CALL_LIMIT_MS }, (response) => {
      response.resume().on('close', () => done(response.statusCode ?? 'no status'));
    });
    call.on('timeout', () => call.destroy(new Error(`no answer in ${CALL_LIMIT_MS / 1000} s`)));
    call.on('error', (error) => done(error.message));
    call.end();
  });
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null ? done(address.port) : fail(new Error('no port is free')),
      );
    });
  });
}

/** The paths that `cluster:up` and `cluster:down` know a cluster by. */
export const stateFile = (directory: string): string => join(directory, 'cluster.json');
