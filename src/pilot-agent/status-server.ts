import { createHttpServer } from '../io/http/server.ts';
import type { HttpRequest, HttpResponse, HttpServer } from '../io/http/types.ts';
import type { Logger } from '../io/log/logger.ts';
import type { LogScopes } from '../io/log/scopes.ts';
import { scopesPage } from '../io/log/scopes-page.ts';
import { isLoopback } from '../lib/address.ts';
import { MeshError } from '../lib/errors.ts';
import type { ProbeAnswer } from './probe-application.ts';
import type { Readiness } from './readiness.ts';

export interface StatusSource {
  readiness(): Promise<Readiness>;
  /** The agent's own, in the Prometheus text format. */
  metrics(): Promise<string>;
  /** Those of the proxy, the application and the agent, as one text. */
  allMetrics(): Promise<string>;
  /** One attempt of the application's probe or hook that is served at a path; undefined: there is none. */
  probe(path: string, gone: AbortSignal): Promise<ProbeAnswer> | undefined;
  /** Of the agent's log. */
  readonly scopes: LogScopes;
  /** Ends the agent gracefully. */
  quit(): void;
}

const NOT_FOUND =
  'there are /healthz/ready, /healthz/live, /metrics, /stats/prometheus, the probes and hooks that injection moved to /app-health/ and /app-lifecycle/ and, from loopback, /scopez and, by POST, /quitquitquit';

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
          return source.metrics().then(statistics);
        case 'GET /stats/prometheus':
          return source.allMetrics().then(statistics);
        case 'POST /quitquitquit':
          return quit(request, source);
        default:
          if (/^\/scopez(\/|$)/.test(request.path)) return logScopes(request, source);
          return applicationProbe(request, source, logger);
      }
    },
  });
}

/** The status port is open to the whole network, unlike a monitoring port: what the agent logs is for its pod to know. */
function logScopes(request: HttpRequest, source: StatusSource): Promise<HttpResponse> | HttpResponse {
  if (!isLoopback(request.remoteAddress))
    return text(403, 'only the pod itself may see and change the log levels of its sidecar');
  return scopesPage(source.scopes, request) ?? text(404, NOT_FOUND);
}

async function applicationProbe(request: HttpRequest, source: StatusSource, logger: Logger): Promise<HttpResponse> {
  const asked = request.method === 'GET' ? source.probe(request.path, request.signal) : undefined;
  if (asked === undefined) return text(404, NOT_FOUND);
  const answer = await asked;
  if (answer.status !== 'none') return text(answer.status, answer.text);
  logger.warn("a lifecycle hook of the application's failed", { path: request.path, reason: answer.text });
  return { status: 200, body: CUT };
}

/** A body that breaks the connection off before anything is answered. */
const CUT: AsyncIterable<string> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new MeshError('unavailable', 'the application does not answer')) }),
};

const statistics = (body: string): HttpResponse => ({
  status: 200,
  headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
  body,
});

/** Lets a job that has finished end its sidecar; from elsewhere it would be an attack. */
function quit(request: HttpRequest, source: StatusSource): HttpResponse {
  if (!isLoopback(request.remoteAddress)) return text(403, 'only the pod itself may end its sidecar');
  source.quit();
  return text(200, 'ending');
}

const text = (status: number, body: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: `${body}\n`,
});
