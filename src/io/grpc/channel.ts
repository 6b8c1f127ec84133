import type { ChannelCredentials, Client, Metadata, ServiceError } from '@grpc/grpc-js';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Redacted } from '../../lib/redacted.ts';
import { errorCodeOf } from './status.ts';
import type { Codec } from './types.ts';

export interface ClientTls {
  /** The roots that the server's certificate is checked against. */
  readonly rootPem: string;
  /** The name that the server's certificate must carry, where it is not the address's host. */
  readonly serverName?: string;
  /** What the client proves itself with, where the server asks. */
  readonly identity?: { readonly keyPem: Redacted; readonly chainPem: string };
}

/** The same, where roots that nobody names are those that Node knows. */
export type ChannelTls = Omit<ClientTls, 'rootPem'> & { readonly rootPem: string | undefined };

export interface ChannelOptions {
  /** `host:port` or `unix:/path`. */
  readonly address: string;
  /** Absent: plaintext. */
  readonly tls?: ChannelTls;
  /** A longer answer is refused; 4 MiB unless this says otherwise. */
  readonly maxAnswerBytes?: number;
  /** The longest wait before a connection that failed is tried again; 2 minutes unless this says otherwise. */
  readonly longestReconnect?: Duration;
}

export interface ChannelCall<Req, Res> {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly request: Req;
  readonly requestCodec: Pick<Codec<Req>, 'encode'>;
  readonly responseCodec: Pick<Codec<Res>, 'decode'>;
  readonly metadata?: Readonly<Record<string, string>>;
  /** For the whole call, connecting included. */
  readonly deadline: Duration;
  readonly signal: AbortSignal;
}

type GrpcModule = typeof import('@grpc/grpc-js');

/** Connects at the first call, and again after a connection was lost. Calls fail at once while there is none to be had. */
export class GrpcChannel {
  readonly #grpc: GrpcModule;
  readonly #client: Client;
  readonly #address: string;

  private constructor(grpc: GrpcModule, options: ChannelOptions) {
    const { address, tls, maxAnswerBytes, longestReconnect } = options;
    this.#grpc = grpc;
    this.#address = address;
    this.#client = new grpc.Client(address, credentialsOf(grpc, tls), {
      'grpc.use_local_subchannel_pool': 1,
      ...(tls?.serverName === undefined ? {} : { 'grpc.ssl_target_name_override': tls.serverName }),
      ...(maxAnswerBytes === undefined ? {} : { 'grpc.max_receive_message_length': maxAnswerBytes }),
      ...(longestReconnect === undefined
        ? {}
        : {
            'grpc.initial_reconnect_backoff_ms': Math.min(1_000, longestReconnect),
            'grpc.max_reconnect_backoff_ms': longestReconnect,
          }),
    });
  }

  static async open(options: ChannelOptions): Promise<GrpcChannel> {
    // Loaded here, for a component that makes no call must not pay for it at its start.
    return new GrpcChannel(await import('@grpc/grpc-js'), options);
  }

  /**
   * Rejects with a MeshError of the code that the server's status maps to; `deadline_exceeded`, `unavailable` and `cancelled` come from
   * here too.
   */
  call<Req, Res>(call: ChannelCall<Req, Res>): Promise<Res> {
    if (call.signal.aborted) return Promise.reject(new MeshError('cancelled', `the call to ${this.#address} was cancelled`));
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, response?: Res) => {
        call.signal.removeEventListener('abort', cancel);
        if (error === null && response !== undefined) resolve(response);
        else reject(failureOf(this.#address, error));
      };
      const running = this.#client.makeUnaryRequest(
        call.path,
        (request: Req) => Buffer.from(call.requestCodec.encode(request).finish()),
        (bytes: Buffer) => call.responseCodec.decode(bytes),
        call.request,
        metadataOf(this.#grpc, call.metadata ?? {}),
        { deadline: Date.now() + call.deadline },
        done,
      );
      const cancel = () => running.cancel();
      call.signal.addEventListener('abort', cancel, { once: true });
    });
  }

  /** Calls that run go on; others may not be made. */
  close(): void {
    this.#client.close();
  }
}

function credentialsOf(grpc: GrpcModule, tls: ChannelTls | undefined): ChannelCredentials {
  if (tls === undefined) return grpc.credentials.createInsecure();
  const root = tls.rootPem === undefined ? null : Buffer.from(tls.rootPem);
  if (tls.identity === undefined) return grpc.credentials.createSsl(root);
  return grpc.credentials.createSsl(root, Buffer.from(tls.identity.keyPem.reveal()), Buffer.from(tls.identity.chainPem));
}

function metadataOf(grpc: GrpcModule, entries: Readonly<Record<string, string>>): Metadata {
  const metadata = new grpc.Metadata();
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  return metadata;
}

function failureOf(address: string, error: ServiceError | null): MeshError {
  if (error === null) return new MeshError('internal', `${address} answered without a message`);
  return new MeshError(errorCodeOf(error.code), `${address}: ${error.details}`, error);
}
