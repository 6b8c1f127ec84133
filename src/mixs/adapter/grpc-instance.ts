/** Instances as messages of mesh.adapter.v1 (proto/mesh/adapter/v1/adapter.proto), written at once: no number loses a digit on the way. */
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import ipaddr from 'ipaddr.js';
import type { TypedValue } from '../../rules/attribute/value.ts';
import type { Dimensions, Field, Fields } from '../../rules/template/fields.ts';
import type { BuiltInstance } from '../../rules/template/instances.ts';
import { TEMPLATES } from '../../rules/template/templates.ts';

const NANOS_PER_SECOND = 1_000_000_000n;
const LENGTH_DELIMITED = 2;

/** The tag of a field that is a message, a text or bytes. */
const tag = (field: number): number => (field << 3) | LENGTH_DELIMITED;

/** Encodes a mesh.adapter.v1.Instance. */
export function encodeInstance({ template, values }: BuiltInstance): Uint8Array {
  const writer = new BinaryWriter();
  writer.uint32(tag(1)).string(values.name);
  writer.uint32(tag(2)).string(template);
  writeFields(writer, 3, TEMPLATES[template].fields, { ...values });
  return writer.finish();
}

type Values = Readonly<Record<string, unknown>>;

function writeFields(writer: BinaryWriter, field: number, fields: Fields, values: Values): void {
  for (const [name, definition] of Object.entries(fields)) {
    const value = values[name];
    if (value !== undefined) writeEntry(writer, field, name, () => writeField(writer, definition, value));
  }
}

/** One entry of a map whose values are messages. */
function writeEntry(writer: BinaryWriter, field: number, key: string, writeValue: () => void): void {
  writer.uint32(tag(field)).fork();
  writer.uint32(tag(1)).string(key);
  writer.uint32(tag(2)).fork();
  writeValue();
  writer.join().join();
}

/** A field's definition says what its value is. */
function writeField(writer: BinaryWriter, definition: Field<unknown>, value: unknown): void {
  switch (definition.kind) {
    case 'expression':
      return writeTyped(writer, (definition.type === 'any' ? value : { type: definition.type, value }) as TypedValue);
    case 'dimensions':
      return writeDimensions(writer, value as Dimensions);
    case 'group':
      writer.uint32(tag(12)).fork();
      writeFields(writer, 1, definition.fields, value as Values);
      writer.join();
  }
}

function writeDimensions(writer: BinaryWriter, dimensions: Dimensions): void {
  writer.uint32(tag(12)).fork();
  for (const [name, typed] of Object.entries(dimensions)) writeEntry(writer, 1, name, () => writeTyped(writer, typed));
  writer.join();
}

function writeTyped(writer: BinaryWriter, typed: TypedValue): void {
  switch (typed.type) {
    case 'STRING':
      writer.uint32(tag(1)).string(typed.value);
      break;
    case 'INT64':
      writer.uint32(2 << 3).int64(BigInt.asIntN(64, typed.value));
      break;
    case 'DOUBLE':
      writer.uint32((3 << 3) | 1).double(typed.value);
      break;
    case 'BOOL':
      writer.uint32(4 << 3).bool(typed.value);
      break;
    case 'TIMESTAMP':
      writeTime(writer, 5, typed.value, ((typed.value % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND);
      break;
    case 'DURATION':
      writeTime(writer, 6, typed.value, typed.value % NANOS_PER_SECOND);
      break;
    case 'IP_ADDRESS':
      writer.uint32(tag(7)).bytes(Uint8Array.from(ipaddr.parse(typed.value).toByteArray()));
      break;
    case 'EMAIL_ADDRESS':
      writer.uint32(tag(8)).string(typed.value);
      break;
    case 'URI':
      writer.uint32(tag(9)).string(typed.value);
      break;
    case 'DNS_NAME':
      writer.uint32(tag(10)).string(typed.value);
      break;
    case 'STRING_MAP':
      writer.uint32(tag(11)).fork();
      for (const [key, text] of typed.value) {
        writer.uint32(tag(1)).fork();
        writer.uint32(tag(1)).string(key);
        writer.uint32(tag(2)).string(text).join();
      }
      writer.join();
  }
}

/** google.protobuf.Timestamp and Duration: the nanoseconds of the one are never below zero, of the other they have the sign of the whole. */
function writeTime(writer: BinaryWriter, field: number, value: bigint, nanos: bigint): void {
  writer.uint32(tag(field)).fork();
  writer.uint32(1 << 3).int64((value - nanos) / NANOS_PER_SECOND);
  writer.uint32(2 << 3).int32(Number(nanos));
  writer.join();
}
