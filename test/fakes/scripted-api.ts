/** An API server whose every answer a test gives by hand, for what a real one cannot be made to do. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request that waits for its answer. */
export class ScriptedCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Resolves when the client has gone away or taken everything. */
  readonly closed: Promise<void>;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse, body: string) {
    const url = new URL(request.url ?? '/', 'http://api');
    this.method = request.method ?? '';
    this.path = url.pathname;
    this.query = url.searchParams;
    this.headers = request.headers;
    this.body = body;
    this.#response = response;
    this.closed = new Promise((resolve) => response.once('close', resolve));
  }

  answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.#response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  /** Agrees to a watch. */
  open(): this {
    this.#response.writeHead(200, { 'content-type': 'application/json' });
    this.#response.flushHeaders();
    return this;
  }

  /** Sends frames of a watch, each on its line. */
  send(...frames: readonly unknown[]): this {
    this.#response.write(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''));
    return this;
  }

  /** Sends bytes as they are. */
  write(text: string | Uint8Array): this {
    this.#response.write(text);
    return this;
  }

  end(): void {
    this.#response.end();
  }

  /** Ends the connection in the middle. */
  breakOff(): void {
    this.#response.destroy();
  }
}

export class ScriptedApi {
  readonly #server: Server;
  readonly #calls: ScriptedCall[] = [];
  #url = '';
  #wanted: ((call: ScriptedCall) => void) | undefined;

  private constructor() {
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  static async start(): Promise<ScriptedApi> {
    const api = new ScriptedApi();
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    api.#url = `http://127.0.0.1:${(api.#server.address() as AddressInfo).port}`;
    return api;
  }

  /** `http://127.0.0.1:PORT`, also when it has stopped. */
  get url(): string {
    return this.#url;
  }

  /** The next request, as soon as it is there. */
  next(): Promise<ScriptedCall> {
    const waiting = this.#calls.shift();
    if (waiting !== undefined) return Promise.resolve(waiting);
    return new Promise((resolve) => {
      this.#wanted = resolve;
    });
  }

  /** Requests that nobody has taken yet. */
  get pending(): number {
    return this.#calls.length;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const call = new ScriptedCall(request, response, Buffer.concat(chunks).toString('utf8'));
    const wanted = this.#wanted;
    this.#wanted = undefined;
    if (wanted === undefined) this.#calls.push(call);
    else wanted(call);
  }
}
