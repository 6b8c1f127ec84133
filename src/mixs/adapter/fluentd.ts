import type { FluentdParams } from '../../rules/adapter/fluentd.ts';
import type { TypedValue } from '../../rules/attribute/value.ts';
import type { Instances } from '../../rules/template/instances.ts';
import { BatchSender, type Encoded } from '../telemetry/batch-sender.ts';
import { ForwardConnection } from '../telemetry/forward-connection.ts';
import { packEntry, packForward } from '../telemetry/forward-message.ts';
import type { Packable } from '../telemetry/message-pack.ts';
import type { AdapterEnvironment, Handler } from './adapter.ts';
import { textOf } from './value-text.ts';

const NANOS_PER_MS = 1_000_000n;
const CHUNK_BYTES = 16;

/** Sends log entries to Fluentd: at least once, as long as there is a place for them while it is away. */
export function openFluentd(params: FluentdParams, environment: AdapterEnvironment): Handler {
  const { host, port, integerDuration, instanceBufferSize, maxBatchSizeBytes, pushIntervalDuration } = params;
  const { handler, lost, random } = environment;
  const connection = new ForwardConnection({ host, port, deadline: params.pushTimeoutDuration });
  const sender = new BatchSender<Uint8Array>({
    ...environment,
    name: handler,
    target: `${host}:${port}`,
    send: forwarder(connection, () => newChunk(random)),
    flushInterval: pushIntervalDuration,
    maxRecords: instanceBufferSize,
    maxBatchBytes: maxBatchSizeBytes,
    onLost: lost,
  });
  return {
    report: (instances) => {
      for (const { template, values } of instances) if (template === 'logentry') sender.add(entryOf(values, integerDuration));
    },
    close: async (signal) => {
      await sender.close(signal);
      connection.close();
    },
  };
}

/** Sends a batch, a message for each tag; when it is tried again, those that are acknowledged are not sent once more. */
function forwarder(
  connection: ForwardConnection,
  chunkId: () => string,
): (records: readonly Encoded<Uint8Array>[], signal: AbortSignal) => Promise<number> {
  const taken = new WeakSet<Encoded<Uint8Array>>();
  return async (records, signal) => {
    const left = Map.groupBy(
      records.filter((record) => !taken.has(record)),
      ({ group }) => group,
    );
    for (const [tag, entries] of left) {
      const chunk = chunkId();
      const bytes = entries.map(({ text }) => text);
      await connection.send(packForward(tag, bytes, chunk), chunk, signal);
      for (const entry of entries) taken.add(entry);
    }
    return 0;
  };
}

function newChunk(random: () => number): string {
  return Buffer.from(Array.from({ length: CHUNK_BYTES }, () => Math.floor(random() * 256))).toString('base64');
}

/** The tag is the instance's name, unless a variable says another one; then the name goes into the record. */
function entryOf({ name, timestamp, severity, variables }: Instances['logentry'], integerDuration: boolean): Encoded<Uint8Array> {
  const { tag: given, ...rest } = variables;
  const tag = given === undefined ? '' : textOf(given);
  const values = Object.entries(rest).map(([key, value]): [string, Packable] => [key, packableOf(value, integerDuration)]);
  const record = { ...Object.fromEntries(values), severity, ...(tag === '' ? {} : { name }) };
  return { group: tag === '' ? name : tag, text: packEntry(timestamp, record) };
}

function packableOf(typed: TypedValue, integerDuration: boolean): Packable {
  switch (typed.type) {
    case 'INT64':
    case 'DOUBLE':
    case 'BOOL':
      return typed.value;
    case 'STRING_MAP':
      return Object.fromEntries(typed.value);
    case 'DURATION':
      return integerDuration ? typed.value / NANOS_PER_MS : textOf(typed);
    default:
      return textOf(typed);
  }
}
