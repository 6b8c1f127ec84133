/** Real clients for the server under test: grpc-js, and bare HTTP/2 for what no honest client sends. */

import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import * as grpc from '@grpc/grpc-js';
import { createGrpcServer } from '../../../../src/io/grpc/server.ts';
import type { GrpcServer, GrpcServerOptions } from '../../../../src/io/grpc/types.ts';
import { silentLogger } from '../../../../src/io/log/logger.ts';
import { milliseconds, seconds } from '../../../../src/lib/duration.ts';

const identity = (bytes: Buffer): Buffer => bytes;

export interface Outcome {
  readonly code: number;
  readonly details: string;
  readonly response: string | undefined;
}

/** Keeps what a test opens, and closes it all afterwards. */
export class Bench {
  readonly #closers: (() => unknown)[] = [];

  later(close: () => unknown): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
    this.#closers.length = 0;
  }

  async serve(options: GrpcServerOptions): Promise<GrpcServer> {
    const server = createGrpcServer(options, silentLogger);
    await server.listen({ host: '127.0.0.1', port: 0 });
    this.later(() => server.close(0));
    return server;
  }

  client(server: GrpcServer, credentials = grpc.credentials.createInsecure(), options: grpc.ClientOptions = {}): grpc.Client {
    const client = new grpc.Client(`127.0.0.1:${server.port}`, credentials, { 'grpc.use_local_subchannel_pool': 1, ...options });
    this.later(() => client.close());
    return client;
  }

  http2(server: GrpcServer): ClientHttp2Session {
    const session = connect(`http://127.0.0.1:${server.port}`);
    session.on('error', () => {});
    this.later(() => session.destroy());
    return session;
  }
}

export function call(
  client: grpc.Client,
  path: string,
  request: string | Buffer,
  options: grpc.CallOptions = {},
): Promise<Outcome> {
  return callWith(client, path, request, new grpc.Metadata(), options);
}

export function callWith(
  client: grpc.Client,
  path: string,
  request: string | Buffer,
  metadata: grpc.Metadata,
  options: grpc.CallOptions = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, identity, identity, Buffer.from(request), metadata, options, (error, response) =>
      resolve({ code: error?.code ?? 0, details: error?.details ?? '', response: response?.toString() }),
    );
  });
}

export function bidi(client: grpc.Client, path: string, options: grpc.CallOptions = {}): grpc.ClientDuplexStream<Buffer, Buffer> {
  return client.makeBidiStreamRequest(path, identity, identity, options);
}

export interface RawOutcome {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders | undefined;
  readonly body: Buffer;
}

export const GRPC_HEADERS = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };

/** Sends one request as it is and collects the whole answer. */
export async function raw(session: ClientHttp2Session, headers: Record<string, string>, body: Buffer): Promise<RawOutcome> {
  const stream = session.request({ ...GRPC_HEADERS, ...headers });
  stream.on('error', () => {});
  stream.end(body);
  return await outcomeOf(stream);
}

export function outcomeOf(stream: ClientHttp2Stream): Promise<RawOutcome> {
  return new Promise((resolve) => {
    let headers: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders | undefined;
    const chunks: Buffer[] = [];
    stream.on('response', (received) => {
      headers = received;
    });
    stream.on('trailers', (received) => {
      trailers = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('close', () => resolve({ headers, trailers, body: Buffer.concat(chunks) }));
  });
}

export function framed(payload: Buffer | string, flags = 0): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(5);
  header[0] = flags;
  header.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}

export const FAST_KEEPALIVE = { interval: milliseconds(100), timeout: milliseconds(500) };
export const SLOW_KEEPALIVE = { interval: seconds(60), timeout: seconds(60) };
