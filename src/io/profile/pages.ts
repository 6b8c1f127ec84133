import { milliseconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { HttpRequest, HttpResponse } from '../http/types.ts';
import type { Profiler } from './profiler.ts';

const PATH = '/debug/pprof';
const DEFAULT_SECONDS = 30;
const MAX_SECONDS = 60;

const INDEX = `${PATH}/

profile  CPU time of the main thread for ?seconds=N (1 to ${MAX_SECONDS}, else ${DEFAULT_SECONDS})
heap     live memory by where it was allocated, sampled since the start

go tool pprof http://<this address>${PATH}/profile?seconds=10
go tool pprof http://<this address>${PATH}/heap
`;

/**
 * The profiles of a component over HTTP, where Go programs have theirs; without a profiler, word of the flag that starts one.
 * @returns undefined for other paths
 */
export function profilePages(profiler: Profiler | undefined, request: HttpRequest): Promise<HttpResponse> | undefined {
  const { path } = request;
  if (path !== PATH && !path.startsWith(`${PATH}/`)) return undefined;
  return answer(profiler, path.slice(PATH.length), request);
}

async function answer(
  profiler: Profiler | undefined,
  page: string,
  { method, query, signal }: HttpRequest,
): Promise<HttpResponse> {
  if (profiler === undefined) throw new MeshError('not_found', `there are no profiles at ${PATH}/: start with --profile`);
  if (method !== 'GET') return { status: 405, headers: { allow: 'GET' }, body: `${method} is not answered here; there is GET\n` };
  switch (page) {
    case '':
      return { status: 301, headers: { location: `${PATH}/` } };
    case '/':
      return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: INDEX };
    case '/profile':
      return download('profile', await profiler.cpu(milliseconds(readSeconds(query.get('seconds')) * 1_000), signal));
    case '/heap':
      return download('heap', await profiler.heap());
    default:
      throw new MeshError('not_found', `there is no profile ${page.slice(1)}; there are ${PATH}/profile and ${PATH}/heap`);
  }
}

function readSeconds(text: string | null): number {
  if (text === null) return DEFAULT_SECONDS;
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > MAX_SECONDS)
    throw new MeshError('invalid', `seconds: ${JSON.stringify(text)} is not a whole number from 1 to ${MAX_SECONDS}`);
  return seconds;
}

function download(name: string, body: Uint8Array): HttpResponse {
  const headers = { 'content-type': 'application/octet-stream', 'content-disposition': `attachment; filename="${name}.pb.gz"` };
  return { status: 200, headers, body };
}
