/** The vocabulary of the gRPC server: methods, contexts, streams. Follows https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
import type { X509Certificate } from 'node:crypto';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';

/** What ts-proto generates for every message. */
export interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(input: Uint8Array): T;
}

export interface CallContext {
  /** Request metadata, keys in lower case; `-bin` values still base64. A repeated key keeps its values joined by a comma. */
  readonly metadata: ReadonlyMap<string, string>;
  readonly peer: {
    readonly address: string;
    /** The verified client certificate, when the server asked for one and the client presented it. */
    readonly certificate: X509Certificate | undefined;
  };
  /** Aborted when the call ends for whatever reason: finished, cancelled, deadline over, connection lost, server shutting down hard. */
  readonly signal: AbortSignal;
}

/** What a handler is given: the call, and what goes back beside its messages. */
export interface HandlerContext extends CallContext {
  readonly response: ResponseMetadata;
}

/**
 * Metadata of a response. A key that ends in `-bin` takes bytes, any other printable ASCII; a key may be added several times.
 * What the protocol does not allow is refused as `internal`: it is the handler's mistake.
 */
export interface ResponseMetadata {
  /** Headers go out with the first message; `failed_precondition` afterwards. */
  addHeader(key: string, value: string | Uint8Array): void;
  /** Trailers go out with the status. */
  addTrailer(key: string, value: string | Uint8Array): void;
}

/** One bidirectional stream, in messages of raw bytes. */
export interface ServerStream {
  /** Request messages in order; ends when the client half-closes, throws a MeshError `cancelled` when the call is aborted. */
  readonly requests: AsyncIterable<Uint8Array>;
  /**
   * Writes one message given as consecutive chunks of its bytes (so that shared parts are never copied) and resolves when
   * the transport has taken it, so awaiting it is the back-pressure. Rejects with `cancelled` when the call is over.
   */
  write(chunks: readonly Uint8Array[]): Promise<void>;
}

export type Method =
  | {
      readonly type: 'unary';
      /** `/package.Service/Method` */
      readonly path: string;
      /** Gets the request's bytes and gives the response's; throws MeshError for another status than OK. */
      handle(request: Uint8Array, context: HandlerContext): Promise<Uint8Array>;
    }
  | {
      readonly type: 'stream';
      readonly path: string;
      /** The call ends with OK when the promise resolves and with the error's status when it rejects. */
      handle(stream: ServerStream, context: HandlerContext): Promise<void>;
    };

/** A unary method from its message types. A request that is no such message is refused as `invalid`. */
export function unary<Req, Res>(
  path: string,
  request: Codec<Req>,
  response: Codec<Res>,
  handler: (request: Req, context: HandlerContext) => Promise<Res>,
): Method {
  return {
    type: 'unary',
    path,
    handle: async (bytes, context) => response.encode(await handler(decoded(request, bytes), context)).finish(),
  };
}

function decoded<T>(codec: Codec<T>, bytes: Uint8Array): T {
  try {
    return codec.decode(bytes);
  } catch (thrown) {
    throw new MeshError('invalid', 'the request message cannot be decoded', thrown);
  }
}

export interface GrpcServerOptions {
  readonly methods: readonly Method[];
  /** Bytes of one request message; a larger one ends the call with RESOURCE_EXHAUSTED. Default 4 MiB. */
  readonly maxMessageSize?: number;
  /** Calls at once on one connection. Default 1024. */
  readonly maxConcurrentStreams?: number;
  /** Pings of the server's own, that find dead peers; a handshake may take as long as an answer. Default: one every 30 s, answered within 20 s. */
  readonly keepalive?: { readonly interval: Duration; readonly timeout: Duration };
  /** TLS, where the server speaks it; `certificate` is asked for every new connection, so that it can rotate. */
  readonly tls?: {
    readonly certificate: () => { readonly keyPem: string; readonly chainPem: string };
    /** PEM of the roots that client certificates are checked against; absent: no client certificate is asked for. */
    readonly clientRoots?: () => string;
    /** Whether a connection without a client certificate is refused. Default false. */
    readonly requireClientCertificate?: boolean;
  };
}

export type ListenAddress =
  | { readonly host: string; readonly port: number }
  /** A Unix socket, created with mode 0600 (or `mode`), a stale one being removed first. */
  | { readonly path: string; readonly mode?: number };

export interface GrpcServer {
  /** Rejects with a MeshError that names the address when it is taken or not allowed. */
  listen(address: ListenAddress): Promise<void>;
  /** The port really listened on (for port 0). */
  readonly port: number;
  /** Takes a connection that another listener accepted and that opens with the HTTP/2 preface. */
  accept(socket: import('node:net').Socket): void;
  /** GOAWAY to everybody, no new calls; waits for running calls for at most `graceMs`, then ends them with UNAVAILABLE. */
  close(graceMs: number): Promise<void>;
}
