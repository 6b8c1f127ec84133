/** What the HTTP port answers: discovery by polling, readiness, and pages for operators. */
import { REST_PREFIX } from '../delivery/rest-request.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../io/http/types.ts';
import { MeshError } from '../lib/errors.ts';

export interface PageOptions {
  readonly rest: HttpHandler;
  /** Everything at and below `/debug`. */
  readonly debug: HttpHandler;
  /** What the server still waits for before it serves; empty: ready. */
  readonly waitingFor: () => readonly string[];
}

export function pagesHandler({ rest, debug, waitingFor }: PageOptions): HttpHandler {
  return (request) => {
    if (request.path.startsWith(REST_PREFIX)) return rest(request);
    if (request.path === '/ready') return onlyRead(request) ?? ready(waitingFor());
    if (request.path === '/debug' || request.path.startsWith('/debug/')) return onlyRead(request) ?? debug(request);
    throw new MeshError(
      'not_found',
      `there is no page ${request.path.slice(0, 200)}; there are /ready, /debug and ${REST_PREFIX}<type>`,
    );
  };
}

function onlyRead({ method, path }: HttpRequest): HttpResponse | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined;
  return { status: 405, headers: { allow: 'GET, HEAD' }, body: `${path} is read with GET\n` };
}

function ready(waitingFor: readonly string[]): HttpResponse {
  if (waitingFor.length === 0) return { status: 200, body: 'ready\n' };
  return { status: 503, body: `not ready: waiting for ${waitingFor.join(', ')}\n` };
}
