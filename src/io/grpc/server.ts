/** A gRPC server on node:http2. See https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
import { constants, createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from 'node:http2';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Call } from './call.ts';
import { ByteBudget, ControlFrameLimit } from './limits.ts';
import { bind } from './listen.ts';
import { type Connection, MAX_HEADER_LIST_BYTES, type Service, serveStream } from './serve.ts';
import { type Keepalive, watchSession } from './session.ts';
import { GrpcCode } from './status.ts';
import { createTlsServer } from './tls.ts';
import type { GrpcServer, GrpcServerOptions, Method } from './types.ts';

const MIB = 1024 * 1024;
const DEFAULT_MAX_MESSAGE_SIZE = 4 * MIB;
const DEFAULT_MAX_CONCURRENT_STREAMS = 1024;
const DEFAULT_KEEPALIVE: Keepalive = { interval: seconds(30), timeout: seconds(20) };
/** What a client may send on one stream, and on the connection, before we have read it. Requests are small, a subscription to 5,000 names is 300 kB. */
const STREAM_WINDOW = 256 * 1024;
const CONNECTION_WINDOW = MIB;
/** Request messages of the greatest size that a connection may have half sent: without it 1,024 calls could hold 4 MiB each. */
const MESSAGES_UNFINISHED = 16;
/** How long clients may take to hear that their calls are over: of a thousand at once the last one too, on a busy machine. */
const ENDING_MS = 2_000;
/** How long the round trip may take that makes sure that no call is on its way when a connection closes. */
const PONG_MS = 200;
/** The last stream ID there can be: a GOAWAY with it announces the end without refusing calls that are on their way. */
const LAST_STREAM_ID = 2 ** 31 - 1;

export function createGrpcServer(options: GrpcServerOptions, logger: Logger): GrpcServer {
  return new Http2GrpcServer(options, logger);
}

function methodTable(methods: readonly Method[]): ReadonlyMap<string, Method> {
  const table = new Map<string, Method>();
  for (const method of methods) {
    if (table.has(method.path)) throw new MeshError('internal', `two gRPC methods have the path ${method.path}`);
    table.set(method.path, method);
  }
  return table;
}

function createSessions(maxConcurrentStreams: number): Http2Server {
  return createHttp2Server({
    settings: {
      maxConcurrentStreams,
      initialWindowSize: STREAM_WINDOW,
      maxHeaderListSize: MAX_HEADER_LIST_BYTES,
      enablePush: false,
    },
    // Counted over the whole life of a connection, and our clients send none: empty DATA frames, header fields that HTTP/2 forbids.
    maxSessionInvalidFrames: 100,
    // Also over the whole life. A client that has not read our settings yet may open too many calls once.
    maxSessionRejectedStreams: Math.max(100, maxConcurrentStreams),
    // Opening and resetting calls is a cheap attack (CVE-2023-44487), yet every call of a connection may be cancelled at once, and again
    // after a reconnect of what stands behind the client; then so many resets per second.
    streamResetBurst: 2 * maxConcurrentStreams,
    streamResetRate: 100,
    // MB of frames and headers per connection; calls are refused when they are used up.
    maxSessionMemory: 32,
    // Fields of one request; a request of more is reset. Our clients send a dozen.
    maxHeaderListPairs: 128,
    // One ping of ours is under way at a time (session.ts).
    maxOutstandingPings: 2,
    // How long a connection lives that gave no protocol we speak in its TLS handshake.
    unknownProtocolTimeout: 1_000,
  });
}

class Http2GrpcServer implements GrpcServer {
  readonly #logger: Logger;
  readonly #tls: GrpcServerOptions['tls'];
  readonly #keepalive: Keepalive;
  readonly #service: Service;
  /** Turns sockets into sessions; listens nowhere itself. */
  readonly #http2: Http2Server;
  readonly #listeners: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<ServerHttp2Session, Connection>();
  #closing: Promise<void> | undefined;

  constructor(options: GrpcServerOptions, logger: Logger) {
    this.#logger = logger;
    this.#tls = options.tls;
    this.#keepalive = options.keepalive ?? DEFAULT_KEEPALIVE;
    this.#service = {
      methods: methodTable(options.methods),
      maxMessageSize: options.maxMessageSize ?? DEFAULT_MAX_MESSAGE_SIZE,
      logger,
      running: new Set<Call>(),
    };
    this.#http2 = createSessions(options.maxConcurrentStreams ?? DEFAULT_MAX_CONCURRENT_STREAMS);
    this.#http2.on('stream', (stream, headers, _flags, rawHeaders) => {
      const connection = this.#sessions.get(stream.session as ServerHttp2Session);
      if (connection === undefined) stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else void serveStream(this.#service, stream, headers, rawHeaders, connection);
    });
  }

  get port(): number {
    for (const listener of this.#listeners) {
      const address = listener.address();
      if (address !== null && typeof address === 'object') return address.port;
    }
    return 0;
  }

  async listen(address: Parameters<GrpcServer['listen']>[0]): Promise<void> {
    if (this.#closing !== undefined) throw new MeshError('failed_precondition', 'the server is closed');
    const listener =
      this.#tls === undefined ? createTcpServer({ noDelay: true }, (socket) => this.accept(socket)) : this.#createTls(this.#tls);
    await bind(listener, address);
    listener.on('error', (error) => this.#logger.error('a listener failed', { error: error.message }));
    this.#listeners.push(listener);
  }

  accept(socket: Socket): void {
    if (this.#closing !== undefined) {
      socket.destroy();
      return;
    }
    this.#track(socket);
    const opened = (session: ServerHttp2Session) => this.#opened(session, socket);
    // Emitted before the next line returns, unless the socket's TLS agreed on another protocol.
    this.#http2.once('session', opened);
    this.#http2.emit('connection', socket);
    this.#http2.off('session', opened);
  }

  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  #createTls(tls: NonNullable<GrpcServerOptions['tls']>): Server {
    try {
      const listener = createTlsServer(tls, this.#keepalive.timeout, (socket) => this.accept(socket), this.#logger);
      // A connection counts from its first byte on, so that closing ends half-done handshakes too.
      listener.on('connection', (socket: Socket) => this.#track(socket));
      return listener;
    } catch (thrown) {
      throw new MeshError('invalid', `the TLS certificate cannot be used: ${MeshError.from(thrown).message}`, thrown);
    }
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.on('error', (error) => this.#logger.debug('a socket failed', { error: error.message }));
  }

  #opened(session: ServerHttp2Session, socket: Socket): void {
    const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
    const address = socket.remoteAddress === undefined ? 'unix' : `${socket.remoteAddress}:${socket.remotePort}`;
    const controlFrames = new ControlFrameLimit(() => performance.now());
    const unfinished = new ByteBudget(MESSAGES_UNFINISHED * this.#service.maxMessageSize);
    this.#sessions.set(session, { peer: { address, certificate }, controlFrames, unfinished });
    session.once('close', () => this.#sessions.delete(session));
    session.setLocalWindowSize(CONNECTION_WINDOW);
    watchSession(session, socket, this.#keepalive, controlFrames, this.#logger);
  }

  async #close(graceMs: number): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    const sessions = [...this.#sessions.keys()];
    const closed = Promise.all(sessions.map((session) => new Promise<void>((resolve) => session.once('close', () => resolve()))));
    for (const session of sessions) drain(session);
    if (!(await settlesWithin(closed, graceMs))) {
      for (const call of this.#service.running) call.end({ code: GrpcCode.UNAVAILABLE, message: 'the server is shutting down' });
      for (const session of sessions) session.close();
      await settlesWithin(closed, ENDING_MS);
    }
    for (const session of this.#sessions.keys()) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Announces the end, and after a round trip, when no call can be on its way unaware of it, closes to new calls. */
function drain(session: ServerHttp2Session): void {
  if (session.destroyed || session.closed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID);
  const asked = session.ping(() => session.close());
  if (!asked) session.close();
  // A client that has nothing to end any more may leave without a word, and without an answer.
  setTimeout(() => session.close(), PONG_MS).unref();
}

async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
