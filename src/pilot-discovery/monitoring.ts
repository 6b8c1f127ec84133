import type { HttpHandler, HttpRequest, HttpResponse } from '../io/http/types.ts';
import { MeshError } from '../lib/errors.ts';
import { buildInfo, longVersion } from '../lib/version.ts';
import type { Metrics } from './metrics.ts';

/** Answers requests for pages of its own; undefined for others. */
export type Pages = (request: HttpRequest) => Promise<HttpResponse> | undefined;

/** The pages of the monitoring port. `refresh` brings gauges up to date before they are read. */
export function monitoringHandler(metrics: Metrics, refresh: () => void, pages: readonly Pages[]): HttpHandler {
  return async (request) => {
    switch (request.path) {
      case '/metrics':
        refresh();
        return { status: 200, headers: { 'content-type': metrics.contentType }, body: await metrics.text() };
      case '/version':
        return { status: 200, body: `${longVersion(buildInfo, process.version)}\n` };
      default:
        return otherPage(request, pages);
    }
  };
}

function otherPage(request: HttpRequest, pages: readonly Pages[]): Promise<HttpResponse> {
  for (const answer of pages) {
    const response = answer(request);
    if (response !== undefined) return response;
  }
  throw new MeshError(
    'not_found',
    `there is no page ${request.path}; there are /metrics, /version, /scopez and, with --profile, /debug/pprof/`,
  );
}
