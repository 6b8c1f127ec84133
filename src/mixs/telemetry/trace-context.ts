import { parseSpanId, parseTraceId } from './span.ts';

/** What a caller says of the trace that its request belongs to. */
export interface TraceContext {
  /** `undecided` where it leaves to others whether the trace is recorded. */
  readonly sampling: 'yes' | 'no' | 'undecided';
  /** The span that the request belongs to; absent where there is none, or its ids are none. */
  readonly parent: { readonly traceId: string; readonly spanId: string } | undefined;
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const SAMPLED_FLAG = 1;

/** From https://www.w3.org/TR/trace-context/ or https://github.com/openzipkin/b3-propagation, in this order. */
export function traceContextOf(metadata: ReadonlyMap<string, string>): TraceContext {
  return ofTraceparent(metadata.get('traceparent')) ?? ofSingleB3(metadata.get('b3')) ?? ofB3(metadata);
}

function ofTraceparent(text: string | undefined): TraceContext | undefined {
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(text ?? '') ?? [];
  const parent = parentOf(traceId, spanId);
  if (parent === undefined) return undefined;
  return { sampling: (Number.parseInt(flags, 16) & SAMPLED_FLAG) === 0 ? 'no' : 'yes', parent };
}

function ofSingleB3(text: string | undefined): TraceContext | undefined {
  if (text === undefined) return undefined;
  const [first = '', spanId, state] = text.split('-');
  if (spanId === undefined) return { sampling: samplingOf(first), parent: undefined };
  const parent = parentOf(first, spanId);
  return parent === undefined ? undefined : { sampling: samplingOf(state), parent };
}

function ofB3(metadata: ReadonlyMap<string, string>): TraceContext {
  const isDebug = metadata.get('x-b3-flags') === '1';
  return {
    sampling: isDebug ? 'yes' : samplingOf(metadata.get('x-b3-sampled')),
    parent: parentOf(metadata.get('x-b3-traceid'), metadata.get('x-b3-spanid')),
  };
}

function parentOf(trace: string | undefined, span: string | undefined): TraceContext['parent'] {
  const [traceId, spanId] = [parseTraceId(trace), parseSpanId(span)];
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId };
}

function samplingOf(state: string | undefined): TraceContext['sampling'] {
  if (state === '1' || state === 'd' || state === 'true') return 'yes';
  return state === '0' || state === 'false' ? 'no' : 'undecided';
}
