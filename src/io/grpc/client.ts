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

export interface UnaryCall<Req, Res> {
  /** `host:port` or `unix:/path`. */
  readonly address: string;
  /** `/package.Service/Method` */
  readonly path: string;
  readonly request: Req;
  readonly requestCodec: Codec<Req>;
  readonly responseCodec: Codec<Res>;
  readonly metadata?: Readonly<Record<string, string>>;
  /** For the whole call, connecting included. */
  readonly deadline: Duration;
  /** Absent: plaintext. */
  readonly tls?: ClientTls;
  readonly signal: AbortSignal;
}

type GrpcModule = typeof import('@grpc/grpc-js');

/**
 * One call on a connection of its own, so that every call sees the roots and the identity of now. Rejects with a MeshError of
 * the code that the server's status maps to; `deadline_exceeded`, `unavailable` and `cancelled` come from here too.
 */
export async function unaryCall<Req, Res>(call: UnaryCall<Req, Res>): Promise<Res> {
  // Loaded here, for a component that makes no call must not pay for it at its start.
  const grpc = await import('@grpc/grpc-js');
  if (call.signal.aborted) throw new MeshError('cancelled', `the call to ${call.address} was cancelled`);
  const client = new grpc.Client(call.address, credentialsOf(grpc, call.tls), {
    'grpc.use_local_subchannel_pool': 1,
    ...(call.tls?.serverName === undefined ? {} : { 'grpc.ssl_target_name_override': call.tls.serverName }),
  });
  try {
    return await invoke(client, metadataOf(grpc, call.metadata ?? {}), call);
  } finally {
    client.close();
  }
}

function credentialsOf(grpc: GrpcModule, tls: ClientTls | undefined): ChannelCredentials {
  if (tls === undefined) return grpc.credentials.createInsecure();
  const root = Buffer.from(tls.rootPem);
  if (tls.identity === undefined) return grpc.credentials.createSsl(root);
  return grpc.credentials.createSsl(root, Buffer.from(tls.identity.keyPem.reveal()), Buffer.from(tls.identity.chainPem));
}

function metadataOf(grpc: GrpcModule, entries: Readonly<Record<string, string>>): Metadata {
  const metadata = new grpc.Metadata();
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  return metadata;
}

function invoke<Req, Res>(client: Client, metadata: Metadata, call: UnaryCall<Req, Res>): Promise<Res> {
  return new Promise((resolve, reject) => {
    const done = (error: ServiceError | null, response?: Res) => {
      call.signal.removeEventListener('abort', cancel);
      if (error === null && response !== undefined) resolve(response);
      else reject(failureOf(call.address, error));
    };
    const running = client.makeUnaryRequest(
      call.path,
      (request: Req) => Buffer.from(call.requestCodec.encode(request).finish()),
      (bytes: Buffer) => call.responseCodec.decode(bytes),
      call.request,
      metadata,
      { deadline: Date.now() + call.deadline },
      done,
    );
    const cancel = () => running.cancel();
    call.signal.addEventListener('abort', cancel, { once: true });
  });
}

function failureOf(address: string, error: ServiceError | null): MeshError {
  if (error === null) return new MeshError('internal', `${address} answered without a message`);
  return new MeshError(errorCodeOf(error.code), `${address}: ${error.details}`, error);
}
