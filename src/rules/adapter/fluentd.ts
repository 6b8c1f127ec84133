import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import type { Fields } from '../../model/parse/fields.ts';
import { defineAdapter, SCHEMA } from './define.ts';
import { type HostPort, readHostPort } from './host-port.ts';

export interface FluentdParams extends HostPort {
  /** Whether spans of time are numbers of milliseconds instead of texts. */
  readonly integerDuration: boolean;
  /** Entries that wait, at most. */
  readonly instanceBufferSize: number;
  /** Of the entries of one message. */
  readonly maxBatchSizeBytes: number;
  /** An entry waits this long for others. */
  readonly pushIntervalDuration: Duration;
  /** For one message, until it is acknowledged. */
  readonly pushTimeoutDuration: Duration;
}

const MIB = 1024 * 1024;
const SHORTEST = milliseconds(10);
const LONGEST = seconds(600);

/** Log entries for Fluentd, or for whoever takes its forward protocol. */
export const fluentd = defineAdapter<FluentdParams>({
  name: 'fluentd',
  description: 'Sends log entries to Fluentd, and again until it acknowledges them',
  templates: ['logentry'],
  schema: SCHEMA.object({
    address: { ...SCHEMA.text, description: 'host:port; default localhost:24224' },
    integerDuration: { ...SCHEMA.flag, description: 'spans of time as milliseconds instead of text; default false' },
    instanceBufferSize: {
      ...SCHEMA.count,
      description: 'entries that wait at most, 1 to 100000; more are lost and counted; default 1024',
    },
    maxBatchSizeBytes: { ...SCHEMA.count, description: 'of entries in one message, 1024 to 33554432; default 8388608' },
    pushIntervalDuration: { ...SCHEMA.duration, description: 'how long an entry waits for others; default 1m' },
    pushTimeoutDuration: { ...SCHEMA.duration, description: 'for one message to be acknowledged; default 1m' },
  }),
  read: (fields) => {
    fields.noOthers([
      'address',
      'integerDuration',
      'instanceBufferSize',
      'maxBatchSizeBytes',
      'pushIntervalDuration',
      'pushTimeoutDuration',
    ]);
    return {
      ...readHostPort(fields, 'address', 'localhost:24224'),
      integerDuration: fields.boolean('integerDuration') ?? false,
      instanceBufferSize: fields.wholeNumber('instanceBufferSize', 1, 100_000) ?? 1024,
      maxBatchSizeBytes: fields.wholeNumber('maxBatchSizeBytes', 1024, 32 * MIB) ?? 8 * MIB,
      pushIntervalDuration: between(fields, 'pushIntervalDuration'),
      pushTimeoutDuration: between(fields, 'pushTimeoutDuration'),
    };
  },
});

function between(fields: Fields, field: string): Duration {
  const value = fields.duration(field) ?? seconds(60);
  if (value < SHORTEST || value > LONGEST) fields.refuse(field, 'must be from 10ms to 10m');
  return value;
}
