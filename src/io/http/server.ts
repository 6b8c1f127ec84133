import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { type ErrorCode, MeshError } from '../../lib/errors.ts';
import { listenError } from '../net/multiplex.ts';
import type { HttpRequest, HttpResponse, HttpServer, HttpServerOptions } from './types.ts';

const MIB = 1 << 20;

/** HTTP/1.1 with limits on everything a client can send, and an orderly end. Nothing listens until `listen`. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  return new NodeHttpServer(options);
}

class NodeHttpServer implements HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #closing = false;
  #follows = false;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    const requestTimeout = options.requestTimeoutMs ?? 30_000;
    this.#server = createServer(
      { requestTimeout, headersTimeout: Math.min(requestTimeout, 10_000), keepAliveTimeout: 60_000, maxHeaderSize: 64 * 1024 },
      (request, response) => void this.#serve(request, response),
    );
    this.#server.on('connection', (socket: Socket) => this.#admit(socket));
  }

  async listen(address: { readonly host: string; readonly port: number }): Promise<void> {
    this.#server.listen({ host: address.host, port: address.port });
    await once(this.#server, 'listening').catch((cause: unknown) => {
      throw listenError(cause, `${address.host}:${address.port}`);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  accept(socket: Socket): void {
    if (!this.#server.listening && !this.#follows) {
      // Node watches over idle and slow connections from this event on; a server that others listen for has none of its own.
      this.#follows = true;
      this.#server.emit('listening');
    }
    this.#server.emit('connection', socket);
  }

  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const listening = this.#server.listening;
    const closed = listening ? once(this.#server, 'close') : Promise.resolve();
    // Without a listening socket there is no 'close' to wait for, but an end to Node's watch.
    this.#server.close(() => {});
    this.#server.closeIdleConnections();
    const deadline = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, graceMs);
    await Promise.all([closed, ...[...this.#sockets].map((socket) => once(socket, 'close'))]);
    clearTimeout(deadline);
  }

  #admit(socket: Socket): void {
    if (this.#sockets.size >= (this.#options.maxConnections ?? 4_096)) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const end = new CallEnd();
    outgoing.on('close', () => end.reached());
    outgoing.on('finish', () => {
      // A kept-alive connection that became idle after close() would otherwise hold it up for the whole grace time.
      if (this.#closing) setImmediate(() => this.#server.closeIdleConnections());
    });
    const request = toRequest(incoming, end, this.#options.maxBodySize ?? MIB);
    try {
      await send(outgoing, await this.#options.handle(request), request.method);
    } catch (thrown) {
      if (end.isReached) return;
      const error = MeshError.from(thrown);
      const status = STATUS_OF[error.code];
      if (status >= 500) this.#options.onError?.(error, request);
      // A response already begun cannot change its status: cutting it is the only way left to say that it is not whole.
      if (outgoing.headersSent) outgoing.destroy();
      else await send(outgoing, errorResponse(error, status), request.method).catch(() => outgoing.destroy());
    } finally {
      // What is left of a body that nobody read would be taken for the next request.
      if (!incoming.complete) incoming.destroy();
    }
  }
}

/** Tells when a call is over. Its signal is made for those who ask: an abort makes an error with a stack. */
class CallEnd {
  #abort: AbortController | undefined;
  #isReached = false;

  get isReached(): boolean {
    return this.#isReached;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#isReached) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  reached(): void {
    this.#isReached = true;
    this.#abort?.abort();
  }
}

/** Internal failures are told to the log, not to the client. */
function errorResponse(error: MeshError, status: number): HttpResponse {
  const message = status === 500 ? 'internal error' : error.message;
  const headers: Record<string, string> = { 'content-type': 'text/plain; charset=utf-8' };
  return { status, headers: status === 413 ? { ...headers, connection: 'close' } : headers, body: `${message}\n` };
}

const STATUS_OF: Readonly<Record<ErrorCode, number>> = {
  invalid: 400,
  usage: 400,
  not_found: 404,
  already_exists: 409,
  conflict: 409,
  permission_denied: 403,
  unauthenticated: 401,
  unavailable: 503,
  deadline_exceeded: 504,
  resource_exhausted: 413,
  failed_precondition: 412,
  unimplemented: 501,
  cancelled: 503,
  internal: 500,
};

function toRequest(incoming: IncomingMessage, end: CallEnd, maxBodySize: number): HttpRequest {
  const [path = '/', ...query] = (incoming.url ?? '/').split('?');
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
    name,
    [value ?? ''].flat().join(', '),
  ]);
  return {
    method: incoming.method ?? 'GET',
    path,
    query: new URLSearchParams(query.join('?')),
    headers: new Map(headers),
    remoteAddress: incoming.socket.remoteAddress ?? '',
    certificate: certificateOf(incoming.socket),
    get signal() {
      return end.signal;
    },
    body: () => readBody(incoming, maxBodySize),
  };
}

function certificateOf(socket: Socket): HttpRequest['certificate'] {
  return socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
}

async function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = () => new MeshError('resource_exhausted', `the request body is over the limit of ${limit} bytes`);
  if (Number(incoming.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    const bytes: Buffer = chunk;
    size += bytes.length;
    if (size > limit) throw tooLarge();
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

async function send(outgoing: ServerResponse, response: HttpResponse, method: string): Promise<void> {
  const { body } = response;
  for (const [name, value] of Object.entries(response.headers ?? {})) outgoing.setHeader(name, value);
  outgoing.statusCode = response.status;
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    outgoing.setHeader('content-length', body === undefined ? 0 : Buffer.byteLength(body));
    outgoing.end(method === 'HEAD' ? undefined : body);
    return;
  }
  if (method === 'HEAD') outgoing.end();
  else await pipeline(Readable.from(body, { objectMode: false }), outgoing);
}
