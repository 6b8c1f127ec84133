import type { HttpHandler } from '../io/http/types.ts';
import { MeshError } from '../lib/errors.ts';
import { buildInfo, longVersion } from '../lib/version.ts';
import type { Metrics } from './metrics.ts';

/** The pages of the monitoring port. `refresh` brings gauges up to date before they are read. */
export function monitoringHandler(metrics: Metrics, refresh: () => void): HttpHandler {
  return async ({ path }) => {
    switch (path) {
      case '/metrics':
        refresh();
        return { status: 200, headers: { 'content-type': metrics.contentType }, body: await metrics.text() };
      case '/version':
        return { status: 200, body: `${longVersion(buildInfo, process.version)}\n` };
      default:
        throw new MeshError('not_found', `there is no page ${path}; there are /metrics and /version`);
    }
  };
}
