import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import ipaddr from 'ipaddr.js';
import { MeshError } from '../../lib/errors.ts';
import type { Vocabulary } from '../../rules/attribute/bag.ts';
import type { StringMap, Value, ValueType } from '../../rules/attribute/value.ts';
import { Dictionary } from './dictionary.ts';

/** The field of istio.mixer.v1.CompressedAttributes that carries values of a type. */
const FIELD_OF: Readonly<Record<ValueType, number>> = {
  STRING: 2,
  DNS_NAME: 2,
  EMAIL_ADDRESS: 2,
  URI: 2,
  INT64: 3,
  DOUBLE: 4,
  BOOL: 5,
  TIMESTAMP: 6,
  DURATION: 7,
  IP_ADDRESS: 8,
  STRING_MAP: 9,
};
const WORDS = 1;
const FIELD_NAMES = ['', 'words', 'strings', 'int64s', 'doubles', 'bools', 'timestamps', 'durations', 'bytes', 'string_maps'];

const NANOS = 1_000_000_000n;
/** Seconds of google.protobuf.Timestamp: the years 1 to 9999; of google.protobuf.Duration: 10,000 years either way. */
const FIRST_SECOND = -62_135_596_800n;
const LAST_SECOND = 253_402_300_799n;
const LONGEST_SECONDS = 315_576_000_000n;

export interface DecodeOptions {
  readonly vocabulary: Vocabulary;
  readonly globalWordCount: number;
  /** The words of messages that bring none of their own. */
  readonly defaultWords?: readonly string[];
  /** Called with each attribute that the vocabulary has not; it is left out. */
  readonly unknown?: (name: string) => void;
}

/**
 * The values of one istio.mixer.v1.CompressedAttributes by name, put into `values`.
 *
 * @throws MeshError `invalid` when the message is cut off, names a word that there is none of, or an attribute has another type than
 *   the vocabulary says
 */
export function decodeAttributes(bytes: Uint8Array, options: DecodeOptions, values: Map<string, Value>): void {
  try {
    const words = readWords(bytes);
    const dictionary = new Dictionary(words.length === 0 ? (options.defaultWords ?? []) : words, options.globalWordCount);
    readEntries(bytes, dictionary, options, values);
  } catch (thrown) {
    if (thrown instanceof MeshError) throw thrown;
    throw new MeshError('invalid', 'attributes: the message is cut off or no CompressedAttributes', thrown);
  }
}

/** Words may stand behind what uses them. */
function readWords(bytes: Uint8Array): readonly string[] {
  const words: string[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === WORDS && type === WireType.LengthDelimited) words.push(reader.string());
    else reader.skip(type, field);
  }
  return words;
}

function readEntries(bytes: Uint8Array, dictionary: Dictionary, options: DecodeOptions, values: Map<string, Value>): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === WORDS || field >= FIELD_NAMES.length || type !== WireType.LengthDelimited) reader.skip(type, field);
    else readEntry(reader, field, dictionary, options, values);
  }
}

/** One entry of a protobuf map: key is field 1, value field 2, either may be absent for its default. */
function readEntry(
  reader: BinaryReader,
  field: number,
  dictionary: Dictionary,
  options: DecodeOptions,
  values: Map<string, Value>,
): void {
  const end = reader.uint32() + reader.pos;
  if (end > reader.len) throw new RangeError('cut off');
  let index = 0;
  let value: Value | undefined;
  while (reader.pos < end) {
    const [part, type] = reader.tag();
    if (part === 1 && type === WireType.Varint) index = reader.sint32();
    else if (part === 2) value = readValue(reader, field, type, dictionary);
    else reader.skip(type, part);
  }
  if (reader.pos !== end) throw new RangeError('cut off');
  const name = dictionary.word(index);
  const known = options.vocabulary.typeOf(name);
  if (known === undefined) options.unknown?.(name);
  else if (FIELD_OF[known] !== field) {
    throw new MeshError('invalid', `attributes: ${name} is ${known}, and comes as one of ${FIELD_NAMES[field]}`);
  } else values.set(name, value ?? defaultOf(known, dictionary));
}

function readValue(reader: BinaryReader, field: number, type: WireType, dictionary: Dictionary): Value {
  const expected =
    field === 2 || field === 3 || field === 5 ? WireType.Varint : field === 4 ? WireType.Bit64 : WireType.LengthDelimited;
  if (type !== expected) throw new RangeError('another wire type');
  switch (field) {
    case 2:
      return dictionary.word(reader.sint32());
    case 3:
      return BigInt(reader.int64());
    case 4:
      return reader.double();
    case 5:
      return reader.bool();
    case 6:
      return within(nanosFrom(reader.bytes()), FIRST_SECOND, LAST_SECOND, 'a timestamp is in the years 1 to 9999');
    case 7:
      return within(nanosFrom(reader.bytes()), -LONGEST_SECONDS, LONGEST_SECONDS, 'a duration is of 10000 years at most');
    case 8:
      return addressFrom(reader.bytes());
    default:
      return stringMapFrom(reader.bytes(), dictionary);
  }
}

function defaultOf(type: ValueType, dictionary: Dictionary): Value {
  switch (type) {
    case 'INT64':
    case 'TIMESTAMP':
    case 'DURATION':
      return 0n;
    case 'DOUBLE':
      return 0;
    case 'BOOL':
      return false;
    case 'STRING_MAP':
      return new Map();
    case 'IP_ADDRESS':
      return addressFrom(new Uint8Array());
    default:
      return dictionary.word(0);
  }
}

/** google.protobuf.Timestamp and Duration alike: seconds are field 1, nanoseconds field 2. */
function nanosFrom(bytes: Uint8Array): bigint {
  const reader = new BinaryReader(bytes);
  let total = 0n;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1 && type === WireType.Varint) total += BigInt(reader.int64()) * NANOS;
    else if (field === 2 && type === WireType.Varint) total += BigInt(reader.int32());
    else reader.skip(type, field);
  }
  return total;
}

function within(nanos: bigint, first: bigint, last: bigint, rule: string): bigint {
  if (nanos < first * NANOS || nanos >= (last + 1n) * NANOS) throw new MeshError('invalid', `attributes: ${rule}`);
  return nanos;
}

function addressFrom(bytes: Uint8Array): string {
  if (bytes.length !== 4 && bytes.length !== 16) {
    throw new MeshError('invalid', `attributes: an IP address has 4 or 16 bytes, not ${bytes.length}`);
  }
  if (bytes.length === 4) return bytes.join('.');
  const address = ipaddr.process(ipaddr.fromByteArray([...bytes]).toString());
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

function stringMapFrom(bytes: Uint8Array, dictionary: Dictionary): StringMap {
  const entries = new Map<string, string>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field !== 1 || type !== WireType.LengthDelimited) {
      reader.skip(type, field);
      continue;
    }
    const entry = new BinaryReader(reader.bytes());
    let [key, value] = [0, 0];
    while (entry.pos < entry.len) {
      const [part, kind] = entry.tag();
      if (part === 1 && kind === WireType.Varint) key = entry.sint32();
      else if (part === 2 && kind === WireType.Varint) value = entry.sint32();
      else entry.skip(kind, part);
    }
    entries.set(dictionary.word(key), dictionary.word(value));
  }
  return entries;
}
