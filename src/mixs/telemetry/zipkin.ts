/** Zipkin's v2 API: https://zipkin.io/zipkin-api/#/default/post_spans */
import type { Duration } from '../../lib/duration.ts';
import { textOf } from '../adapter/value-text.ts';
import type { Encoded } from './batch-sender.ts';
import { postJson } from './post-json.ts';
import type { Span, SpanEndpoint } from './span.ts';

const NANOS_PER_MICRO = 1_000n;
const KINDS = { client: 'CLIENT', server: 'SERVER', internal: undefined } as const;

/** Where a collector at a URL takes spans; one that names no path has the usual one. */
export function zipkinUrl(url: string): string {
  return withPath(url, '/api/v2/spans');
}

/** A URL with a path of its own, or this one. */
export function withPath(url: string, path: string): string {
  const parsed = new URL(url);
  if (parsed.pathname === '/') parsed.pathname = path;
  return parsed.href;
}

export function encodeZipkin({
  traceId,
  spanId,
  parentSpanId,
  name,
  kind,
  start,
  end,
  tags,
  failed,
  local,
  remote,
}: Span): Encoded {
  const micros = start / NANOS_PER_MICRO;
  // A duration of 0 means an unknown one.
  const duration = (end - start + NANOS_PER_MICRO - 1n) / NANOS_PER_MICRO || 1n;
  const texts = Object.fromEntries(Object.entries(tags).map(([key, value]) => [key, textOf(value)]));
  const text = JSON.stringify({
    traceId,
    id: spanId,
    parentId: parentSpanId,
    kind: KINDS[kind],
    name,
    timestamp: Number(micros),
    duration: Number(duration),
    localEndpoint: endpointOf(local),
    remoteEndpoint: remote === undefined ? undefined : endpointOf(remote),
    // A tag `error` is what makes a span a failed one, whatever its value.
    tags: failed ? { error: texts['http.status_code'] ?? 'true', ...texts } : texts,
  });
  return { group: '', text };
}

function endpointOf({ name, address }: SpanEndpoint): object | undefined {
  if (name === undefined && address === undefined) return undefined;
  if (address === undefined) return { serviceName: name };
  return { serviceName: name, [address.includes(':') ? 'ipv6' : 'ipv4']: address };
}

/** Sends spans as one message. */
export function zipkinSend(
  url: string,
  deadline: Duration,
): (records: readonly Encoded[], signal: AbortSignal) => Promise<number> {
  const target = zipkinUrl(url);
  return async (records, signal) => {
    await postJson(target, `[${records.map(({ text }) => text).join(',')}]`, deadline, signal);
    return 0;
  };
}
