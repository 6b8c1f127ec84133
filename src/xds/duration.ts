import type { Duration as ProtoDuration } from '#gen/google/protobuf/duration.ts';
import type { Duration } from '../lib/duration.ts';

/** google.protobuf.Duration of a span of time. */
export function protoDuration(duration: Duration): ProtoDuration {
  const whole = Math.trunc(duration / 1_000);
  return { seconds: whole, nanos: Math.round((duration - whole * 1_000) * 1e6) };
}

/** To Envoy, zero means that a time-out is off. */
export const OFF: ProtoDuration = { seconds: 0, nanos: 0 };
