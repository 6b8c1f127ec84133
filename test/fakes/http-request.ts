import type { HttpRequest } from '../../src/io/http/types.ts';

/** A request for a handler, `GET /ip?x=1` with a body, that never goes away. */
export function httpRequest(
  line: string,
  fields: { readonly headers?: Record<string, string>; readonly body?: string } = {},
): HttpRequest {
  const [method = '', url = ''] = line.split(' ');
  const [path = '', query = ''] = url.split('?');
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: new Map(Object.entries(fields.headers ?? {})),
    remoteAddress: '::ffff:10.0.0.9',
    signal: new AbortController().signal,
    body: async () => Buffer.from(fields.body ?? ''),
  };
}
