import { createHttpServer } from '../io/http/server.ts';
import type { HttpRequest, HttpResponse, HttpServer } from '../io/http/types.ts';
import type { Logger } from '../io/log/logger.ts';
import type { Readiness } from './readiness.ts';

export interface StatusSource {
  readiness(): Promise<Readiness>;
  /** In the Prometheus text format. */
  metrics(): Promise<string>;
  /** Ends the agent gracefully. */
  quit(): void;
}

/** The status port: what the kubelet and Prometheus ask the sidecar. */
export function createStatusServer(source: StatusSource, logger: Logger): HttpServer {
  let known = '';
  const ready = async (): Promise<HttpResponse> => {
    const readiness = await source.readiness();
    const state = readiness.ready ? 'ready' : readiness.reason;
    // Probes come every other second: only what changes is worth a line.
    if (state !== known)
      logger.info(readiness.ready ? 'the proxy is ready' : 'the proxy is not ready', readiness.ready ? {} : { reason: state });
    known = state;
    return text(readiness.ready ? 200 : 503, state);
  };
  return createHttpServer({
    maxBodySize: 1024,
    maxConnections: 256,
    onError: (error, request) => logger.error('a status request failed', { path: request.path, error: error.message }),
    handle: (request) => {
      switch (`${request.method} ${request.path}`) {
        case 'GET /healthz/ready':
        case 'HEAD /healthz/ready':
          return ready();
        case 'GET /healthz/live':
        case 'HEAD /healthz/live':
          return text(200, 'live');
        case 'GET /metrics':
          return source
            .metrics()
            .then((body) => ({ status: 200, headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }, body }));
        case 'POST /quitquitquit':
          return quit(request, source);
        default:
          return text(404, 'there are /healthz/ready, /healthz/live, /metrics and, by POST from loopback, /quitquitquit');
      }
    },
  });
}

/** Lets a job that has finished end its sidecar; from elsewhere it would be an attack. */
function quit(request: HttpRequest, source: StatusSource): HttpResponse {
  if (!isLoopback(request.remoteAddress)) return text(403, 'only the pod itself may end its sidecar');
  source.quit();
  return text(200, 'ending');
}

const isLoopback = (address: string): boolean => /^(::ffff:)?127\./.test(address) || address === '::1';

const text = (status: number, body: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: `${body}\n`,
});
