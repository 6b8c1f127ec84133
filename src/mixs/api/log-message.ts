import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { StreamAccessLogsMessage_Identifier } from '#gen/envoy/service/accesslog/v3/als.ts';
import { MeshError } from '../../lib/errors.ts';

export type LogKind = 'http' | 'tcp';

/** One envoy.service.accesslog.v3.StreamAccessLogsMessage, with its entries still to be read. */
export interface LogMessage {
  readonly identifier: StreamAccessLogsMessage_Identifier | undefined;
  readonly logs: readonly { readonly kind: LogKind; readonly bytes: Uint8Array }[];
}

/** Fields of the message, and of both its kinds of logs. */
const IDENTIFIER = 1;
const HTTP_LOGS = 2;
const TCP_LOGS = 3;
const LOG_ENTRY = 1;

/**
 * Reads all but the entries: one of them takes two bytes at least, and a thousand times that once it is read.
 *
 * @throws MeshError `invalid` when the message is cut off or none
 */
export function readLogMessage(bytes: Uint8Array): LogMessage {
  let identifier: StreamAccessLogsMessage_Identifier | undefined;
  const logs: { kind: LogKind; bytes: Uint8Array }[] = [];
  try {
    for (const { field, value } of fieldsOf(bytes)) {
      if (field === IDENTIFIER) identifier = StreamAccessLogsMessage_Identifier.decode(value);
      else if (field === HTTP_LOGS) logs.push({ kind: 'http', bytes: value });
      else if (field === TCP_LOGS) logs.push({ kind: 'tcp', bytes: value });
    }
  } catch (thrown) {
    throw new MeshError('invalid', 'the message is cut off or no StreamAccessLogsMessage', thrown);
  }
  return { identifier, logs };
}

/**
 * The bytes of each entry, one after the other.
 *
 * @throws MeshError `invalid` behind the last entry that is there when the logs are cut off
 */
export function* logEntries({ logs }: LogMessage): Generator<{ readonly kind: LogKind; readonly bytes: Uint8Array }> {
  for (const { kind, bytes } of logs) {
    try {
      for (const { field, value } of fieldsOf(bytes)) if (field === LOG_ENTRY) yield { kind, bytes: value };
    } catch (thrown) {
      throw new MeshError('invalid', 'the entries are cut off', thrown);
    }
  }
}

/** The fields of a message that are messages themselves. */
function* fieldsOf(bytes: Uint8Array): Generator<{ readonly field: number; readonly value: Uint8Array }> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === WireType.LengthDelimited) yield { field, value: reader.bytes() };
    else reader.skip(type, field);
  }
}
