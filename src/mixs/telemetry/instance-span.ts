import type { TypedValue } from '../../rules/attribute/value.ts';
import type { Instances } from '../../rules/template/instances.ts';
import { newSpanId, parseSpanId, parseTraceId, type Span } from './span.ts';

const ALL_BITS = 0xffff_ffff_ffff_ffffn;

/**
 * The span that a tracespan instance describes, with an id of its own where it names none; `undefined` where its ids are none, or it ends before
 * it begins. `random` gives numbers of [0, 1).
 */
export function spanOfInstance(instance: Instances['tracespan'], random: () => number): Span | undefined {
  const { startTime, endTime, clientSpan = false, rewriteClientSpanId = false } = instance;
  const traceId = parseTraceId(instance.traceId);
  const spanId = instance.spanId === undefined ? newSpanId(random) : parseSpanId(instance.spanId);
  const parentSpanId = parseSpanId(instance.parentSpanId);
  const hasBadParent = (instance.parentSpanId ?? '') !== '' && parentSpanId === undefined;
  if (traceId === undefined || spanId === undefined || hasBadParent || endTime < startTime) return undefined;
  const source = { name: instance.sourceName, address: instance.sourceIp };
  const destination = { name: instance.destinationName, address: instance.destinationIp };
  // Proxies of both ends give one id to their two spans; back ends with one span an id get another for the client's.
  const clientId = rewriteClientSpanId ? otherId(spanId) : spanId;
  return {
    traceId,
    spanId: clientSpan ? clientId : spanId,
    parentSpanId: clientSpan || !rewriteClientSpanId ? parentSpanId : clientId,
    name: instance.spanName,
    kind: clientSpan ? 'client' : 'server',
    start: startTime,
    end: endTime,
    tags: tagsOf(instance),
    failed: (instance.httpStatusCode ?? 0n) >= 500n,
    local: clientSpan ? source : destination,
    remote: clientSpan ? destination : source,
  };
}

/** The same other id wherever it is computed, and never none. */
function otherId(id: string): string {
  const other = BigInt(`0x${id}`) ^ ALL_BITS;
  return other === 0n ? id : other.toString(16).padStart(16, '0');
}

function tagsOf(instance: Instances['tracespan']): Readonly<Record<string, TypedValue>> {
  const tags: Record<string, TypedValue> = {};
  const sizes = {
    'http.status_code': instance.httpStatusCode,
    'request.size': instance.requestSize,
    'request.total_size': instance.requestTotalSize,
    'response.size': instance.responseSize,
    'response.total_size': instance.responseTotalSize,
  };
  for (const [name, value] of Object.entries(sizes)) if (value !== undefined) tags[name] = { type: 'INT64', value };
  if (instance.apiProtocol !== undefined) tags['api.protocol'] = { type: 'STRING', value: instance.apiProtocol };
  return { ...tags, ...instance.spanTags };
}
