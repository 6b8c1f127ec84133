/** Accepts TLS connections for an HTTP server, with a certificate that may be exchanged while it runs. */
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Duration } from '../../lib/duration.ts';
import { seconds } from '../../lib/duration.ts';
import type { Logger } from '../log/logger.ts';
import { listenError } from '../net/multiplex.ts';
import type { ServerKeyPair } from '../x509/key-pair-files.ts';

const HANDSHAKE_TIMEOUT: Duration = seconds(5);

export interface TlsListener {
  /** The port it is bound to. */
  readonly port: number;
  /** New connections are served with this certificate; established ones go on. */
  use(keyPair: ServerKeyPair): void;
  /** Stops accepting; connections that were handed on are their owner's. */
  close(): void;
}

export interface TlsListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly keyPair: ServerKeyPair;
  readonly accept: (socket: Socket) => void;
  readonly logger: Logger;
}

/** @throws MeshError when the address cannot be bound */
export async function listenTls({ host, port, keyPair, accept, logger }: TlsListenerOptions): Promise<TlsListener> {
  const server = createServer({ ...contextOf(keyPair), handshakeTimeout: HANDSHAKE_TIMEOUT, ALPNProtocols: ['http/1.1'] });
  server.on('secureConnection', accept);
  server.on('tlsClientError', (error, socket) => {
    logger.debug('a TLS handshake failed', { peer: socket.remoteAddress, error: error.message });
    // Node leaves open what timed out.
    socket.destroy();
  });
  await listen(server, host, port);
  server.on('error', (error) => logger.error('accepting connections fails', { error: error.message }));
  return {
    port: (server.address() as AddressInfo).port,
    use: (next) => server.setSecureContext(contextOf(next)),
    close: () => void server.close(),
  };
}

function contextOf({ certChainPem, keyPem }: ServerKeyPair) {
  return { cert: certChainPem, key: keyPem.reveal(), minVersion: 'TLSv1.2' as const };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, `${host}:${port}`)));
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}
