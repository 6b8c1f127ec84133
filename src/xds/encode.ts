/** The way back from JSON (https://protobuf.dev/programming-guides/json/) to encoded resources, for what others send us. */
import { Any } from '#gen/google/protobuf/any.ts';
import type { Duration } from '#gen/google/protobuf/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { fieldOf, isAny, isDuration } from './decode.ts';
import { messageTypeOf } from './message-types.ts';

/** The bytes of a google.protobuf.Any. Throws MeshError `invalid`, with the place, for a type or a field that is not known. */
export function encodeResource(json: unknown, path = ''): Uint8Array {
  return Any.encode(writeAny(json, path)).finish();
}

function writeAny(json: unknown, path: string): Any {
  if (!isObject(json) || typeof json['@type'] !== 'string') throw bad(path, 'a resource has its type in "@type"');
  const { '@type': typeUrl, ...fields } = json;
  const type = messageTypeOf(typeUrl);
  if (type === undefined) throw bad(path, `type ${typeUrl.slice(0, 200)} is not known here; send it in protobuf`);
  try {
    return { typeUrl, value: type.write(fields, (message) => complete(message, fields, path)) };
  } catch (thrown) {
    throw thrown instanceof MeshError ? thrown : bad(path, MeshError.from(thrown).message);
  }
}

/** Walks a message beside the JSON it was read from, and puts in what generated code did not read. */
function complete(message: unknown, json: unknown, path: string): void {
  if (json === null || json === undefined) return;
  if (isAny(message)) {
    Object.assign(message, writeAny(json, path));
  } else if (isDuration(message)) {
    Object.assign(message, durationOf(json, path));
  } else if (Array.isArray(json)) {
    const items = Array.isArray(message) ? message : [];
    for (const [index, item] of json.entries()) complete(items[index], item, `${path}[${index}]`);
  } else if (isObject(json) && isObject(message)) {
    for (const [name, value] of Object.entries(json)) {
      const field = fieldOf(message, name) ?? fieldOf(message, camelCase(name));
      if (field === undefined && value !== null) throw bad(`${path}.${name}`, 'there is no such field, or nothing it could be');
      complete(field, value, `${path}.${name}`);
    }
  }
}

const DURATION = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/;

function durationOf(json: unknown, path: string): Duration {
  const [, sign, seconds, fraction = ''] = (typeof json === 'string' ? DURATION.exec(json) : null) ?? [];
  if (seconds === undefined) throw bad(path, 'is not a duration such as 1.5s');
  const factor = sign === '-' ? -1 : 1;
  // Adding 0 turns a negative zero into the other one.
  return { seconds: factor * Number(seconds) + 0, nanos: factor * Number(fraction.padEnd(9, '0')) + 0 };
}

const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function bad(path: string, message: string): MeshError {
  return new MeshError('invalid', path === '' ? message : `${path.replace(/^\./, '')}: ${message}`);
}
