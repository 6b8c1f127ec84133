/**
 * One TCP port for HTTP/1, HTTP/2 with prior knowledge (RFC 9113 section 3.4) and TLS: a connection is told by its first bytes.
 */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';

/** The client connection preface of HTTP/2 begins with these; no HTTP/1 method does. */
const PREFACE_START = Buffer.from('PRI ');
/** ContentType `handshake` of a TLS record (RFC 8446 section 5.1); no HTTP begins with it. */
const TLS_HANDSHAKE = 22;

type Protocol = 'http1' | 'http2' | 'tls';

/** Who takes a connection. What is absent is closed at once. */
export interface Protocols {
  readonly http1?: (socket: Socket) => void;
  readonly http2?: (socket: Socket) => void;
  /** Gets the connection with its handshake still to come. */
  readonly tls?: (socket: Socket) => void;
}

export interface MultiplexedServer {
  readonly port: number;
  /** Stops accepting; connections that were handed over belong to their takers. */
  close(): Promise<void>;
}

/**
 * Listens and hands every connection to the protocol its first bytes speak.
 * A connection that says nothing within `helloTimeout` is closed. Rejects with a MeshError naming the address when it is taken.
 */
export async function listenMultiplexed(
  address: { readonly host: string; readonly port: number },
  protocols: Protocols,
  helloTimeout: Duration,
): Promise<MultiplexedServer> {
  const waiting = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    waiting.add(socket);
    handOver(socket, protocols, helloTimeout, () => waiting.delete(socket));
  });
  await listening(server, address);
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : address.port,
    async close() {
      for (const socket of waiting) socket.destroy();
      // Not waited for: it is over only when the takers' connections are.
      server.close();
    },
  };
}

/**
 * Hands a connection to the protocol that its first bytes speak, within TLS too; one that says nothing within `helloTimeout` is closed.
 * `decided` is called once, before it is handed over or after it was closed.
 */
export function handOver(socket: Socket, protocols: Protocols, helloTimeout: Duration, decided?: () => void): void {
  sniff(socket, helloTimeout, (protocol) => {
    decided?.();
    if (protocol === undefined) return;
    const take = protocols[protocol];
    if (take === undefined) {
      socket.destroy();
      return;
    }
    take(socket);
    // node:http reads the handle directly and sees what was put back only once the socket flows again.
    if (protocol === 'http1') process.nextTick(() => socket.resume());
  });
}

async function listening(server: Server, address: { readonly host: string; readonly port: number }): Promise<void> {
  try {
    server.listen({ host: address.host, port: address.port, ipv6Only: false });
    await once(server, 'listening');
  } catch (error) {
    throw listenError(error, `${address.host}:${address.port}`);
  }
}

/** A MeshError that says which address could not be listened on, why, and what to do. */
export function listenError(error: unknown, address: string): MeshError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'EADDRINUSE':
      return new MeshError(
        'failed_precondition',
        `cannot listen on ${address}: the address is in use; stop what listens there or choose another port`,
        error,
      );
    case 'EACCES':
      return new MeshError(
        'permission_denied',
        `cannot listen on ${address}: not permitted; ports below 1024 need root or CAP_NET_BIND_SERVICE`,
        error,
      );
    case 'EADDRNOTAVAIL':
      return new MeshError('invalid', `cannot listen on ${address}: this machine has no such address`, error);
    default:
      return MeshError.from(error, 'unavailable');
  }
}

function sniff(socket: Socket, helloTimeout: Duration, decided: (protocol: Protocol | undefined) => void): void {
  let head: Buffer = Buffer.alloc(0);

  const finish = (protocol: Protocol | undefined): void => {
    clearTimeout(timer);
    socket.removeListener('data', onData).removeListener('close', onClose).removeListener('error', onClose);
    if (protocol === undefined) socket.destroy();
    else {
      socket.pause();
      socket.unshift(head);
    }
    decided(protocol);
  };
  const onData = (chunk: Buffer): void => {
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    if (head[0] === TLS_HANDSHAKE) {
      finish('tls');
      return;
    }
    const seen = Math.min(head.length, PREFACE_START.length);
    if (!head.subarray(0, seen).equals(PREFACE_START.subarray(0, seen))) finish('http1');
    else if (seen === PREFACE_START.length) finish('http2');
  };
  const onClose = (): void => finish(undefined);
  const timer = setTimeout(onClose, helloTimeout);
  socket.on('data', onData).on('close', onClose).on('error', onClose);
}
