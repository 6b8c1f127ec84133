/** Real receivers of spans: Zipkin's server, and the OTLP receiver of the OpenTelemetry collector. */
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { otlpReceiverPath } from '../../setup/otlp-receiver.ts';
import { findZipkin } from '../../setup/zipkin.ts';
import { BackEndProgram } from './back-end-program.ts';

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
  readonly #program: BackEndProgram;

  constructor(jar: string, port: number) {
    this.url = `http://127.0.0.1:${port}`;
    const listener = [
      `--armeria.ports[0].port=${port}`,
      '--armeria.ports[0].ip=127.0.0.1',
      '--armeria.ports[0].protocols[0]=http',
    ];
    const small = ['-Xmx160m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
    this.#program = new BackEndProgram(['java', ...small, '-jar', jar, ...listener]);
  }

  /** Resolves when it is healthy. */
  async start(): Promise<void> {
    const env = { ...process.env, STORAGE_TYPE: 'mem' };
    await this.#program.start({ env, stdio: 'ignore' }, () => answers(`${this.url}/health`, ({ ok }) => ok));
  }

  kill(): Promise<void> {
    return this.#program.kill();
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
  readonly #program: BackEndProgram;
  #messages: { readonly kind: string; readonly data: unknown }[] = [];

  constructor(path: string, port: number) {
    const address = `127.0.0.1:${port}`;
    this.#program = new BackEndProgram([path, address]);
    this.url = `http://${address}`;
  }

  /** Resolves when it answers; forgets what it took in an earlier life. */
  async start(): Promise<void> {
    this.#messages = [];
    const isUp = (): Promise<boolean> => answers(this.url, () => true);
    await this.#program.start({ stdio: ['ignore', 'pipe', 'inherit'] }, isUp, ({ stdout }) => {
      if (stdout !== null) createInterface(stdout).on('line', (line) => this.#messages.push(JSON.parse(line)));
    });
  }

  kill(): Promise<void> {
    return this.#program.kill();
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

function answers(url: string, accepts: (response: Response) => boolean): Promise<boolean> {
  return fetch(url).then(accepts, () => false);
}
