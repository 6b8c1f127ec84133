/** Real receivers of spans: Zipkin's server, and the OTLP receiver of the OpenTelemetry collector. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { otlpReceiverPath } from '../../setup/otlp-receiver.ts';
import { findZipkin } from '../../setup/zipkin.ts';

const START_LIMIT_MS = 120_000;
const POLL_MS = 50;

/** For a `before` hook: Zipkin's jar, or a skipped suite where there is no Java. In CI with Java nothing is skipped. */
export function requireZipkin(context: Mocha.Context): string {
  const found = findZipkin(process.env);
  if ('missing' in found) {
    if (found.missing === 'jar' && (process.env['CI'] ?? '') !== '') throw new Error('Zipkin is missing; run npm run setup');
    context.skip();
  }
  context.timeout(START_LIMIT_MS);
  return found.jar;
}

/** A Zipkin that keeps spans in memory. It ends with the test, however that ends. */
export class ZipkinServer {
  readonly url: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  constructor(jar: string, port: number) {
    this.url = `http://127.0.0.1:${port}`;
    const listener = [
      `--armeria.ports[0].port=${port}`,
      '--armeria.ports[0].ip=127.0.0.1',
      '--armeria.ports[0].protocols[0]=http',
    ];
    this.#args = ['-Xmx160m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-jar', jar, ...listener];
  }

  /** Resolves when it is healthy. */
  async start(): Promise<void> {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'java', ...this.#args], {
      env: { ...process.env, STORAGE_TYPE: 'mem' },
      stdio: 'ignore',
    });
    this.#child = child;
    const isHealthy = (): Promise<boolean> =>
      fetch(`${this.url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await isHealthy())) {
      if (child.exitCode !== null) throw new Error(`Zipkin ended with ${child.exitCode}`);
      await sleep(POLL_MS);
    }
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** The spans of a trace, when there are as many. */
  async spansOf(traceId: string, count: number): Promise<readonly ZipkinSpan[]> {
    for (;;) {
      const response = await fetch(`${this.url}/api/v2/trace/${traceId}`);
      const spans = response.ok ? ((await response.json()) as readonly ZipkinSpan[]) : [];
      if (spans.length >= count) return spans;
      await sleep(POLL_MS);
    }
  }
}

export interface ZipkinSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parentId?: string;
  readonly kind?: string;
  readonly name: string;
  readonly timestamp: number;
  readonly duration: number;
  readonly localEndpoint?: Readonly<Record<string, string>>;
  readonly remoteEndpoint?: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, string>>;
}

/** For a `before` hook: the receiver, or a skipped suite where the set-up could not build it. In CI nothing is skipped. */
export function requireOtlpReceiver(context: Mocha.Context): string {
  const path = otlpReceiverPath(process.env);
  if (!existsSync(path)) {
    if ((process.env['CI'] ?? '') !== '') throw new Error('the OTLP receiver is missing; run npm run setup');
    context.skip();
  }
  return path;
}

/** The OTLP receiver of the collector; what it has understood comes out as the collector's own JSON. It ends with the test. */
export class OtlpReceiver {
  readonly url: string;
  readonly #path: string;
  readonly #address: string;
  #child: ChildProcess | undefined;
  #messages: { readonly kind: string; readonly data: unknown }[] = [];

  constructor(path: string, port: number) {
    this.#path = path;
    this.#address = `127.0.0.1:${port}`;
    this.url = `http://${this.#address}`;
  }

  /** Resolves when it answers; forgets what it took in an earlier life. */
  async start(): Promise<void> {
    this.#messages = [];
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', this.#path, this.#address], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    createInterface(child.stdout).on('line', (line) => this.#messages.push(JSON.parse(line)));
    const answers = (): Promise<boolean> =>
      fetch(this.url).then(
        () => true,
        () => false,
      );
    while (!(await answers())) {
      if (child.exitCode !== null) throw new Error(`the OTLP receiver ended with ${child.exitCode}`);
      await sleep(POLL_MS);
    }
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** The messages of one kind since it started, when there are as many. */
  async taken(kind: 'traces' | 'logs', count: number): Promise<readonly unknown[]> {
    for (;;) {
      const messages = this.#messages.filter((message) => message.kind === kind);
      if (messages.length >= count) return messages.map(({ data }) => data);
      await sleep(POLL_MS);
    }
  }
}
