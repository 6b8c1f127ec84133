/** One bounded GET: of time, size and redirects. */
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchLimits {
  /** For all of it, redirects and body included. */
  readonly timeout: Duration;
  readonly maxBytes: number;
  readonly maxRedirects: number;
}

/** The body of a document as text. Rejects with MeshError `invalid`, `unavailable` or `deadline_exceeded`. */
export async function fetchDocument(url: string, fetch: Fetch, limits: FetchLimits, signal: AbortSignal): Promise<string> {
  const deadline = AbortSignal.timeout(limits.timeout);
  try {
    const response = await followRedirects(url, fetch, limits, AbortSignal.any([signal, deadline]));
    return await readBody(url, response, limits.maxBytes);
  } catch (error) {
    if (signal.aborted) throw new MeshError('cancelled', `the fetch of ${url} was cancelled`, error);
    if (deadline.aborted) throw new MeshError('deadline_exceeded', `${url} did not answer within ${limits.timeout} ms`, error);
    if (error instanceof MeshError) throw error;
    throw new MeshError('unavailable', `${url} cannot be fetched: ${reasonOf(error)}`, error);
  }
}

async function followRedirects(start: string, fetch: Fetch, limits: FetchLimits, signal: AbortSignal): Promise<Response> {
  let url = requireHttp(start, undefined);
  for (let redirects = 0; redirects <= limits.maxRedirects; redirects += 1) {
    const response = await fetch(url.href, { redirect: 'manual', headers: { accept: 'application/json' }, signal });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) {
      if (response.status === 200) return response;
      await response.body?.cancel();
      throw new MeshError('unavailable', `${url.href} answered with HTTP status ${response.status}, not 200`);
    }
    await response.body?.cancel();
    url = requireHttp(location, url);
  }
  throw new MeshError('unavailable', `${start} redirects more than ${limits.maxRedirects} times`);
}

/** A redirect may go from http to https, never back: the keys would come over a connection that anybody can change. */
function requireHttp(text: string, base: URL | undefined): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new MeshError('invalid', `"${text}" is not an http or https address`);
  }
  if (base?.protocol === 'https:' && url.protocol === 'http:') {
    throw new MeshError('invalid', `${base.href} redirects from https to http (${url.href})`);
  }
  return url;
}

async function readBody(url: string, response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new MeshError('invalid', `the document at ${url} is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The reason of a failed fetch stands in the cause of the error. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return MeshError.from(cause).message || MeshError.from(error).message;
}
