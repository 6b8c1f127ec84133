import { createGrpcServer } from '../io/grpc/server.ts';
import type { GrpcServer, Method } from '../io/grpc/types.ts';
import { createHttpServer } from '../io/http/server.ts';
import type { HttpHandler, HttpServer } from '../io/http/types.ts';
import type { Logger } from '../io/log/logger.ts';
import { listenMultiplexed } from '../io/net/multiplex.ts';
import { seconds } from '../lib/duration.ts';
import type { DiscoveryConfig } from './config.ts';

/** Proxies keep one connection each for a long time, so the limit is that of one server's share of a large mesh. */
const MAX_STREAMS_PER_CONNECTION = 2_048;
/** A client must say what it speaks within this. */
const HELLO_TIMEOUT = seconds(10);

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
  readonly logger: Logger;
}

/** Listens on the HTTP and the monitoring port. Rejects with a MeshError naming the address that cannot be had. */
export async function startServers({ config, methods, pages, monitoring, logger }: ServerOptions): Promise<Servers> {
  const grpc: GrpcServer = createGrpcServer({ methods, maxConcurrentStreams: MAX_STREAMS_PER_CONNECTION }, logger);
  const onError = (error: Error, request: { readonly path: string }): void =>
    logger.error('page failed', { path: request.path, error: error.message });
  const http: HttpServer = createHttpServer({ handle: pages, onError });
  const monitor: HttpServer = createHttpServer({ handle: monitoring, onError });
  let serving = false;

  const port = await listenMultiplexed(
    config.http,
    {
      http1: (socket) => http.accept(socket),
      // A proxy that comes before the configuration has been read tries again by itself.
      http2: (socket) => (serving ? grpc.accept(socket) : socket.destroy()),
    },
    HELLO_TIMEOUT,
  );
  await monitor.listen(config.monitoring);

  return {
    async serveDiscovery() {
      await grpc.listen(config.grpc);
      serving = true;
      logger.info('serving discovery', { grpc: grpc.port, http: port.port, monitoring: monitor.port });
    },
    async close(graceMs) {
      await Promise.all([port.close(), grpc.close(graceMs), http.close(graceMs), monitor.close(graceMs)]);
    },
  };
}
