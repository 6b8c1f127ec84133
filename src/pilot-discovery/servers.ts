import type { Socket } from 'node:net';
import type { Server } from 'node:tls';
import { createGrpcServer } from '../io/grpc/server.ts';
import { createTlsServer } from '../io/grpc/tls.ts';
import type { GrpcServer, Method } from '../io/grpc/types.ts';
import { createHttpServer } from '../io/http/server.ts';
import type { HttpHandler, HttpServer } from '../io/http/types.ts';
import type { Logger } from '../io/log/logger.ts';
import { handOver, listenMultiplexed, type MultiplexedServer, type Protocols } from '../io/net/multiplex.ts';
import { seconds } from '../lib/duration.ts';
import type { DiscoveryConfig } from './config.ts';
import type { TlsMaterial } from './tls-material.ts';

/** Proxies keep one connection each for a long time, so the limit is that of one server's share of a large mesh. */
const MAX_STREAMS_PER_CONNECTION = 2_048;
/** A polling proxy keeps a few connections open from one poll to the next. */
const MAX_POLLING_CONNECTIONS = 16_384;
/** A client must say what it speaks within this. */
const HELLO_TIMEOUT = seconds(10);
const HANDSHAKE_TIMEOUT = seconds(10);

export interface Servers {
  /** Starts to serve discovery; until then only the pages answer. */
  serveDiscovery(): Promise<void>;
  /** Finishes what is running, for at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export interface ServerOptions {
  readonly config: DiscoveryConfig;
  readonly methods: readonly Method[];
  readonly pages: HttpHandler;
  readonly monitoring: HttpHandler;
  /** Undefined as long as TLS is not served. */
  readonly tls: () => TlsMaterial | undefined;
  readonly logger: Logger;
}

/** Listens on the HTTP and the monitoring port. Rejects with a MeshError naming the address that cannot be had. */
export async function startServers({ config, methods, pages, monitoring, tls, logger }: ServerOptions): Promise<Servers> {
  const grpc: GrpcServer = createGrpcServer({ methods, maxConcurrentStreams: MAX_STREAMS_PER_CONNECTION }, logger);
  const onError = (error: Error, request: { readonly path: string }): void =>
    logger.error('page failed', { path: request.path, error: error.message });
  const http: HttpServer = createHttpServer({ handle: pages, onError, maxConnections: MAX_POLLING_CONNECTIONS });
  const monitor: HttpServer = createHttpServer({ handle: monitoring, onError });
  let serving = false;
  let grpcPort: MultiplexedServer | undefined;

  // A proxy that comes before the configuration has been read tries again by itself.
  const http2 = (socket: Socket): void => (serving ? grpc.accept(socket) : void socket.destroy());
  const http1 = (socket: Socket): void => http.accept(socket);
  const secured = (inner: Protocols): Protocols => ({ ...inner, tls: securely(inner, tls, logger) });
  const httpPort = await listenMultiplexed(config.http, secured({ http1, http2 }), HELLO_TIMEOUT);
  await monitor.listen(config.monitoring);

  return {
    async serveDiscovery() {
      grpcPort = await listenMultiplexed(config.grpc, secured({ http2 }), HELLO_TIMEOUT);
      serving = true;
      const ports = { grpc: grpcPort.port, http: httpPort.port, monitoring: monitor.port };
      logger.info('serving discovery', { ...ports, tls: tls() !== undefined });
    },
    async close(graceMs) {
      const ports = [httpPort.close(), grpcPort?.close()];
      await Promise.all([...ports, grpc.close(graceMs), http.close(graceMs), monitor.close(graceMs)]);
    },
  };
}

/** Takes a connection through its TLS handshake to the protocol that is spoken within. */
function securely(inner: Protocols, material: ServerOptions['tls'], logger: Logger): (socket: Socket) => void {
  let server: Server | undefined;
  const serverWith = (first: TlsMaterial): Server => {
    // What is served once stays in force.
    const current = (): TlsMaterial => material() ?? first;
    const options = {
      certificate: () => ({ keyPem: current().keyPair.keyPem.reveal(), chainPem: current().keyPair.certChainPem }),
      clientRoots: () => current().rootsPem,
    };
    const take = (socket: Socket): void => handOver(socket, inner, HELLO_TIMEOUT);
    return createTlsServer(options, HANDSHAKE_TIMEOUT, take, logger, ['h2', 'http/1.1']);
  };
  return (socket) => {
    const present = material();
    if (present === undefined) {
      logger.debug('a client speaks TLS, which is not served: there are no certificate files', { peer: socket.remoteAddress });
      socket.destroy();
      return;
    }
    server ??= serverWith(present);
    server.emit('connection', socket);
  };
}
