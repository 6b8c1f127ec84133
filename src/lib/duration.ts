import type { Parsed } from './errors.ts';

/**
 * A span of time in milliseconds, as a type of its own so that a bare number is never taken for one. Fractions of a
 * millisecond are kept.
 */
export type Duration = number & { readonly __duration: 'ms' };

const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

const TERM = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;
/** Go's int64 nanoseconds end here, about 292 years. */
const MAX_MS = 9_223_372_036_854.775;

export function milliseconds(value: number): Duration {
  return value as Duration;
}

export function seconds(value: number): Duration {
  return milliseconds(value * 1_000);
}

/** Parses a duration as Go's time.ParseDuration does: `1h2m3.5s`, `100ms`, `-5s`, `0`. */
export function parseDuration(text: string): Parsed<Duration> {
  const bad = (message: string): Parsed<Duration> => ({ ok: false, problems: [{ path: '', message }] });
  const negative = text.startsWith('-');
  const body = text.replace(/^[+-]/, '');
  if (body === '0') return { ok: true, value: milliseconds(0) };
  let nanos = 0;
  TERM.lastIndex = 0;
  while (TERM.lastIndex < body.length) {
    const term = TERM.exec(body);
    if (term === null) return bad(`"${text}" is not a duration such as 1h2m3.5s, 30s or 100ms`);
    nanos += Number(term[1]) * (UNIT_NS[term[2] ?? ''] ?? Number.NaN);
  }
  if (body === '') return bad('an empty text is not a duration such as 1h2m3.5s, 30s or 100ms');
  const total = nanos / 1e6;
  if (total > MAX_MS) return bad(`"${text}" is longer than a duration can be (about 292 years)`);
  return { ok: true, value: milliseconds(negative ? -total : total) };
}

/** Prints a duration as Go's Duration.String does: `2160h0m0s`, `1m30s`, `1.5s`, `100ms`, `0s`. */
export function formatDuration(duration: Duration): string {
  if (duration === 0) return '0s';
  const sign = duration < 0 ? '-' : '';
  const nanos = BigInt(Math.round(Math.abs(duration) * 1e6));
  if (nanos < 1_000n) return `${sign}${nanos}ns`;
  if (nanos < 1_000_000n) return `${sign}${decimal(nanos, 1_000n)}µs`;
  if (nanos < 1_000_000_000n) return `${sign}${decimal(nanos, 1_000_000n)}ms`;
  const minutes = nanos / 60_000_000_000n;
  const rest = `${decimal(nanos % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return `${sign}${rest}`;
  const hours = minutes / 60n;
  return `${sign}${hours === 0n ? '' : `${hours}h`}${minutes % 60n}m${rest}`;
}

function decimal(value: bigint, unit: bigint): string {
  const fraction = (value % unit)
    .toString()
    .padStart(unit.toString().length - 1, '0')
    .replace(/0+$/, '');
  return fraction === '' ? `${value / unit}` : `${value / unit}.${fraction}`;
}
