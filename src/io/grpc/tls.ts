/** TLS listener whose certificate and client roots are asked for anew with every connection. */
import { constants } from 'node:crypto';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Logger } from '../log/logger.ts';
import type { GrpcServerOptions } from './types.ts';

type TlsOptions = NonNullable<GrpcServerOptions['tls']>;

/** Throws MeshError `invalid` when the first certificate cannot be used; a later bad one leaves the last good one in force. */
export function createTlsServer(
  options: TlsOptions,
  handshakeTimeout: Duration,
  accept: (socket: TLSSocket) => void,
  logger: Logger,
  alpn: readonly string[] = ['h2'],
): Server {
  let current = contextOf(options);
  const server = createServer({
    ...fixedOptions(options),
    ...current,
    ALPNProtocols: [...alpn],
    handshakeTimeout,
    noDelay: true,
    requestCert: options.clientRoots !== undefined,
    // Decided in admit(), where a missing certificate and a bad one are told apart.
    rejectUnauthorized: false,
  });
  server.prependListener('connection', () => {
    try {
      const latest = contextOf(options);
      if (latest.key === current.key && latest.cert === current.cert && latest.ca === current.ca) return;
      server.setSecureContext({ ...fixedOptions(options), ...latest });
      current = latest;
    } catch (thrown) {
      logger.error('the new TLS certificate cannot be used, the last good one stays', { error: MeshError.from(thrown).message });
    }
  });
  server.on('secureConnection', (socket) => {
    const refusal = refusalOf(socket, options);
    if (refusal === undefined) {
      accept(socket);
      return;
    }
    logger.debug('a TLS client was refused', { peer: socket.remoteAddress, reason: refusal });
    socket.destroy();
  });
  server.on('tlsClientError', (error, socket) => {
    logger.debug('a TLS handshake failed', { peer: socket.remoteAddress, error: error.message });
    // Node itself leaves the connection open when a handshake takes too long.
    socket.destroy();
  });
  return server;
}

/** Why a client is not let in. Fails closed: a certificate that does not verify is refused even where none is required. */
function refusalOf(socket: TLSSocket, options: TlsOptions): string | undefined {
  if (options.clientRoots === undefined || socket.authorized) return undefined;
  if (socket.getPeerX509Certificate() !== undefined) return `its certificate does not verify: ${socket.authorizationError}`;
  return options.requireClientCertificate ? 'it presented no certificate' : undefined;
}

function fixedOptions(options: TlsOptions): SecureContextOptions {
  // A resumed session would keep an identity that was verified against roots of earlier.
  return { minVersion: 'TLSv1.2', secureOptions: options.clientRoots === undefined ? 0 : constants.SSL_OP_NO_TICKET };
}

function contextOf(options: TlsOptions): { key: string; cert: string; ca?: string } {
  const { keyPem, chainPem } = options.certificate();
  const roots = options.clientRoots?.();
  return { key: keyPem, cert: chainPem, ...(roots === undefined ? {} : { ca: roots }) };
}
