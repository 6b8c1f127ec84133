import type { TypedValue } from '../../rules/attribute/value.ts';

/** One span, whoever it goes to. */
export interface Span {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string;
  /** 16 hexadecimal digits in lower case. */
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'client' | 'server' | 'internal';
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly end: bigint;
  readonly tags: Readonly<Record<string, TypedValue>>;
  readonly failed: boolean;
  /** Whose span it is. */
  readonly local: SpanEndpoint;
  readonly remote: SpanEndpoint | undefined;
}

export interface SpanEndpoint {
  readonly name: string | undefined;
  readonly address: string | undefined;
}

const SPAN_ID = /^[0-9a-f]{16}$/;
const TRACE_ID = /^(?:[0-9a-f]{16}){1,2}$/;
const ZEROS = /^0+$/;
const HALF = 2 ** 32;
const LEAST_ID = '0000000000000001';

/** A trace's id as b3 has it (16 or 32 hexadecimal digits, not all zero), in 32 digits; `undefined` for what is none. */
export function parseTraceId(text: string | undefined): string | undefined {
  const id = text?.toLowerCase() ?? '';
  return TRACE_ID.test(id) && !ZEROS.test(id) ? id.padStart(32, '0') : undefined;
}

/** A span's id as b3 has it (16 hexadecimal digits, not all zero); `undefined` for what is none. */
export function parseSpanId(text: string | undefined): string | undefined {
  const id = text?.toLowerCase() ?? '';
  return SPAN_ID.test(id) && !ZEROS.test(id) ? id : undefined;
}

/** An id for a new span; `random` gives numbers of [0, 1). */
export function newSpanId(random: () => number): string {
  const half = (): string =>
    Math.floor(random() * HALF)
      .toString(16)
      .padStart(8, '0');
  const id = half() + half();
  return ZEROS.test(id) ? LEAST_ID : id;
}
