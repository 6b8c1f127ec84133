import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import type { Fields } from '../../model/parse/fields.ts';
import { SCHEMA } from './define.ts';

/** How records are gathered on their way to a back end. */
export interface TelemetryLimits {
  /** A record waits this long for others. */
  readonly flushInterval: Duration;
  /** For one message. */
  readonly deadline: Duration;
  /** Records that wait, at most. */
  readonly maxQueued: number;
}

export const TELEMETRY_FIELDS = ['flushInterval', 'deadline', 'maxQueued'] as const;

export const TELEMETRY_SCHEMA = {
  flushInterval: { ...SCHEMA.duration, description: 'how long a record waits for others; default 1s' },
  deadline: { ...SCHEMA.duration, description: 'for one message to the back end; default 5s' },
  maxQueued: { ...SCHEMA.count, description: 'records that wait at most, 1 to 100000; more are lost and counted; default 10000' },
} as const;

export const DEFAULT_TELEMETRY_LIMITS: TelemetryLimits = {
  flushInterval: seconds(1),
  deadline: seconds(5),
  maxQueued: 10_000,
};

const MAX_QUEUED = 100_000;
const SHORTEST = milliseconds(10);
const LONGEST = seconds(60);

export function readTelemetryLimits(fields: Fields): TelemetryLimits {
  return {
    flushInterval: between(fields, 'flushInterval') ?? DEFAULT_TELEMETRY_LIMITS.flushInterval,
    deadline: between(fields, 'deadline') ?? DEFAULT_TELEMETRY_LIMITS.deadline,
    maxQueued: fields.wholeNumber('maxQueued', 1, MAX_QUEUED) ?? DEFAULT_TELEMETRY_LIMITS.maxQueued,
  };
}

function between(fields: Fields, field: string): Duration | undefined {
  const value = fields.duration(field);
  if (value !== undefined && (value < SHORTEST || value > LONGEST)) fields.refuse(field, 'must be from 10ms to 60s');
  return value;
}
