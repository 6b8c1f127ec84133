import { formatDuration, milliseconds } from '../../lib/duration.ts';
import type { TypedValue } from '../../rules/attribute/value.ts';

const NANOS_PER_MS = 1_000_000n;

/** A value as people and back ends read it: times in RFC 3339 (UTC), spans of time as Go writes them, maps as JSON. */
export function textOf(typed: TypedValue): string {
  switch (typed.type) {
    case 'TIMESTAMP':
      return timestampText(typed.value);
    case 'DURATION':
      return formatDuration(milliseconds(Number(typed.value) / 1e6));
    case 'STRING_MAP':
      return JSON.stringify(Object.fromEntries([...typed.value].sort(([a], [b]) => (a < b ? -1 : 1))));
    case 'INT64':
    case 'DOUBLE':
    case 'BOOL':
      return String(typed.value);
    default:
      return typed.value;
  }
}

/** Nanoseconds since 1970 in RFC 3339, with as many digits of a second as there are. */
export function timestampText(nanos: bigint): string {
  const seconds = new Date(Number(nanos / NANOS_PER_MS)).toISOString().slice(0, 19);
  const fraction = String(((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`;
}

/** A value in JSON: numbers and booleans as such (an INT64 that JSON's readers would round as text), maps as objects. */
export function jsonOf(typed: TypedValue): unknown {
  switch (typed.type) {
    case 'DOUBLE':
    case 'BOOL':
      return typed.value;
    case 'INT64':
      return Number.isSafeInteger(Number(typed.value)) ? Number(typed.value) : String(typed.value);
    case 'STRING_MAP':
      return Object.fromEntries(typed.value);
    default:
      return textOf(typed);
  }
}

/** A value as a number, for metrics: spans of time in seconds. `undefined` for what is none. */
export function numberOf(typed: TypedValue): number | undefined {
  switch (typed.type) {
    case 'INT64':
    case 'DOUBLE':
      return Number(typed.value);
    case 'DURATION':
      return Number(typed.value) / 1e9;
    default:
      return undefined;
  }
}
