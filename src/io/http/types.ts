/** The vocabulary of the HTTP server: requests and responses as plain values. */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { MeshError } from '../../lib/errors.ts';

export interface HttpRequest {
  /** In upper case. */
  readonly method: string;
  /** The path as it was sent, undecoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case; a repeated header keeps its values joined by a comma. */
  readonly headers: ReadonlyMap<string, string>;
  readonly remoteAddress: string;
  /** The client certificate of a TLS connection, once it is verified. */
  readonly certificate?: X509Certificate | undefined;
  /** Aborted when the client has gone or the server closes hard. */
  readonly signal: AbortSignal;
  /** Reads the whole body; rejects with a MeshError `resource_exhausted` (answered 413) when it is over the limit. */
  body(): Promise<Buffer>;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An iterable is streamed, with back-pressure. */
  readonly body?: string | Uint8Array | AsyncIterable<string | Uint8Array>;
}

/** Answers every request; a MeshError it throws becomes the status of its code, anything else 500. */
export type HttpHandler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

export interface HttpServerOptions {
  readonly handle: HttpHandler;
  /** Told of failures that the client saw as 5xx. */
  readonly onError?: (error: MeshError, request: HttpRequest) => void;
  /** Bytes of a request body. Default 1 MiB. */
  readonly maxBodySize?: number;
  /** Connections at once; further ones are closed at once. Default 4096. */
  readonly maxConnections?: number;
  /** Milliseconds for the whole of a request to arrive. Default 30 s. */
  readonly requestTimeoutMs?: number;
}

export interface HttpServer {
  /** Rejects with a MeshError that names the address when it is taken or not allowed. `host` `::` listens on IPv4 too. */
  listen(address: { readonly host: string; readonly port: number }): Promise<void>;
  /** The port really listened on (for port 0). */
  readonly port: number;
  /** Takes a connection that another listener accepted. */
  accept(socket: Socket): void;
  /** No new connections, idle ones closed; waits for running requests for at most `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
}
