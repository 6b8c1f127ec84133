import { setTimeout as after } from 'node:timers/promises';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../io/http/types.ts';
import { MeshError } from '../../lib/errors.ts';

const MAX_DELAY_SECONDS = 10;
const MAX_BYTES = 10 << 20;
const CHUNK = 64 << 10;

type Endpoint = (request: HttpRequest, argument: string) => HttpResponse | Promise<HttpResponse>;

/** Path -> endpoint, and the methods it takes; `argument` is what follows the path's last slash. */
const ENDPOINTS: readonly { readonly path: RegExp; readonly methods: readonly string[]; readonly answer: Endpoint }[] = [
  { path: /^\/ip$/, methods: ['GET', 'HEAD'], answer: (request) => json({ origin: originOf(request) }) },
  { path: /^\/headers$/, methods: ['GET', 'HEAD'], answer: (request) => json({ headers: headersOf(request) }) },
  { path: /^\/get$/, methods: ['GET', 'HEAD'], answer: (request) => json(described(request)) },
  { path: /^\/post$/, methods: ['POST'], answer: echo },
  { path: /^\/anything(?:\/.*)?$/, methods: [], answer: echo },
  { path: /^\/status\/([^/]*)$/, methods: [], answer: (_, code) => ({ status: wholeNumber('status', code, 200, 599) }) },
  { path: /^\/delay\/([^/]*)$/, methods: [], answer: delay },
  { path: /^\/bytes\/([^/]*)$/, methods: ['GET', 'HEAD'], answer: (_, size) => bytes(wholeNumber('bytes', size, 0, MAX_BYTES)) },
];

/** Answers like the public httpbin service, in the parts that show what a proxy did to a request. */
export const httpbin: HttpHandler = (request) => {
  for (const { path, methods, answer } of ENDPOINTS) {
    const match = path.exec(request.path);
    if (match === null) continue;
    if (methods.length > 0 && !methods.includes(request.method)) {
      return { status: 405, headers: { allow: methods.join(', ') }, body: `use ${methods.join(' or ')}\n` };
    }
    return answer(request, match[1] ?? '');
  }
  throw new MeshError('not_found', 'no such path; there are /ip /headers /get /post /anything /status/N /delay/N /bytes/N');
};

async function echo(request: HttpRequest): Promise<HttpResponse> {
  const data = (await request.body()).toString('utf8');
  return json({ ...described(request), method: request.method, data, json: parseJson(data) });
}

async function delay(request: HttpRequest, text: string): Promise<HttpResponse> {
  const seconds = /^\d{1,3}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= MAX_DELAY_SECONDS)) throw new MeshError('invalid', `delay must be from 0 to ${MAX_DELAY_SECONDS} seconds`);
  await after(seconds * 1_000, undefined, { signal: request.signal });
  return json(described(request));
}

function bytes(size: number): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': 'application/octet-stream', 'content-length': `${size}` },
    body: chunks(size),
  };
}

async function* chunks(size: number): AsyncIterable<Uint8Array> {
  const chunk = Buffer.alloc(CHUNK, 'mesh');
  for (let left = size; left > 0; left -= CHUNK) yield left < CHUNK ? chunk.subarray(0, left) : chunk;
}

function described(request: HttpRequest): Record<string, unknown> {
  const host = request.headers.get('host') ?? '';
  const query = request.query.size === 0 ? '' : `?${request.query}`;
  const args = Object.fromEntries([...request.query.keys()].map((key) => [key, request.query.getAll(key).join(',')]));
  return { args, headers: headersOf(request), origin: originOf(request), url: `http://${host}${request.path}${query}` };
}

/** Behind a sidecar the connection comes from the sidecar; the header tells of the client where there is one. */
function originOf(request: HttpRequest): string {
  return request.headers.get('x-forwarded-for') ?? request.remoteAddress.replace(/^::ffff:/, '');
}

/** Names as httpbin prints them: `X-Forwarded-Client-Cert`. */
function headersOf(request: HttpRequest): Record<string, string> {
  const canonical = (name: string) => name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
  return Object.fromEntries([...request.headers].map(([name, value]) => [canonical(name), value]));
}

function wholeNumber(what: string, text: string, min: number, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new MeshError('invalid', `${what} must be a whole number from ${min} to ${max}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function json(value: unknown): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(value, undefined, 2)}\n` };
}
