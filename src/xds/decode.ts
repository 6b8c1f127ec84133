/** Reads encoded resources back as JSON (https://protobuf.dev/programming-guides/json/): REST discovery, debug pages, golden files. */
import { Any } from '#gen/google/protobuf/any.ts';
import type { Duration } from '#gen/google/protobuf/duration.ts';
import { messageTypeOf } from './message-types.ts';

/** The JSON of a google.protobuf.Any, nested ones read too; a type that is not known stays as base64. */
export function decodeResource(any: Uint8Array): unknown {
  return readAny(Any.decode(any));
}

function readAny(any: Any): unknown {
  const type = messageTypeOf(any.typeUrl);
  if (type === undefined) return { '@type': any.typeUrl, value: Any.toJSON(any) };
  const { message, json } = type.read(any.value);
  return { '@type': any.typeUrl, ...Object(expand(message, json)) };
}

/** Walks a message beside its JSON, in which generated code leaves what is an Any or a Duration in a form of its own. */
function expand(message: unknown, json: unknown): unknown {
  if (isAny(message)) return readAny(message);
  if (isDuration(message)) return durationText(message);
  if (Array.isArray(json)) return json.map((item, index) => expand(Array.isArray(message) ? message[index] : undefined, item));
  if (typeof json !== 'object' || json === null) return json;
  const fields = Object.entries(json).map(([key, value]) => [key, expand(fieldOf(message, key), value)]);
  return Object.fromEntries(fields);
}

/** A field of a message, be it plain or the case of a oneof (`{ $case: 'typedConfig', typedConfig }`). */
export function fieldOf(message: unknown, key: string): unknown {
  if (typeof message !== 'object' || message === null) return undefined;
  const fields = message as Readonly<Record<string, unknown>>;
  if (key in fields) return fields[key];
  for (const value of Object.values(fields)) {
    if (typeof value === 'object' && value !== null && '$case' in value && value.$case === key) return fieldOf(value, key);
  }
  return undefined;
}

export function isAny(message: unknown): message is Any {
  return (
    typeof message === 'object' &&
    message !== null &&
    'typeUrl' in message &&
    'value' in message &&
    message.value instanceof Uint8Array
  );
}

export function isDuration(message: unknown): message is Duration {
  if (typeof message !== 'object' || message === null || !('seconds' in message) || !('nanos' in message)) return false;
  return Object.keys(message).length === 2 && typeof message.seconds === 'number' && typeof message.nanos === 'number';
}

/** `1.5s`, `0s`, `-0.25s` */
function durationText({ seconds, nanos }: Duration): string {
  const sign = seconds < 0 || nanos < 0 ? '-' : '';
  const fraction = nanos === 0 ? '' : `.${String(Math.abs(nanos)).padStart(9, '0').replace(/0+$/, '')}`;
  return `${sign}${Math.abs(seconds)}${fraction}s`;
}
