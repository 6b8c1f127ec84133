import ipaddr from 'ipaddr.js';
import { MeshError } from '../../lib/errors.ts';
import type { Vocabulary } from '../../rules/attribute/bag.ts';
import type { StringMap, Value, ValueType } from '../../rules/attribute/value.ts';
import { Dictionary } from './dictionary.ts';
import { Wire, WireReader } from './wire-reader.ts';

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
/** Tags: of a word, of a map's key and value where they are numbers, of an entry of a map in a map. */
const WORD = (1 << 3) | Wire.BYTES;
const KEY_INDEX = (1 << 3) | Wire.VARINT;
const VALUE_INDEX = (2 << 3) | Wire.VARINT;
const MAP_ENTRY = (1 << 3) | Wire.BYTES;
const FIELD_NAMES = ['', 'words', 'strings', 'int64s', 'doubles', 'bools', 'timestamps', 'durations', 'bytes', 'string_maps'];

const NANOS = 1_000_000_000n;
/** Of google.protobuf.Timestamp: the years 1 to 9999. */
const FIRST_TIME = -62_135_596_800n * NANOS;
const END_OF_TIMES = 253_402_300_800n * NANOS;
/** Of google.protobuf.Duration: 10,000 years either way. */
const LONGEST_SPAN = 315_576_000_000n * NANOS;
const END_OF_SPANS = 315_576_000_001n * NANOS;

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
    const words = readWords(new WireReader(bytes));
    const dictionary = new Dictionary(words.length === 0 ? (options.defaultWords ?? []) : words, options.globalWordCount);
    readEntries(new WireReader(bytes), dictionary, options, values);
  } catch (thrown) {
    if (thrown instanceof MeshError) throw thrown;
    throw new MeshError('invalid', 'attributes: the message is cut off or no CompressedAttributes', thrown);
  }
}

/** Words may stand behind what uses them. */
function readWords(reader: WireReader): readonly string[] {
  const words: string[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === WORD) words.push(reader.string());
    else reader.skip(tag);
  }
  return words;
}

function readEntries(reader: WireReader, dictionary: Dictionary, options: DecodeOptions, values: Map<string, Value>): void {
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const field = tag >>> 3;
    if (tag === WORD || field >= FIELD_NAMES.length || (tag & 7) !== Wire.BYTES) reader.skip(tag);
    else readEntry(reader, field, dictionary, options, values);
  }
}

/** One entry of a protobuf map: key is field 1, value field 2, either may be absent for its default. */
function readEntry(
  reader: WireReader,
  field: number,
  dictionary: Dictionary,
  options: DecodeOptions,
  values: Map<string, Value>,
): void {
  let index = 0;
  let value: Value | undefined;
  const outer = reader.enter();
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === KEY_INDEX) index = reader.sint32();
    else if (tag >>> 3 === 2) value = readValue(reader, field, tag & 7, dictionary);
    else reader.skip(tag);
  }
  reader.leave(outer);
  const name = dictionary.word(index);
  const known = options.vocabulary.typeOf(name);
  if (known === undefined) options.unknown?.(name);
  else if (FIELD_OF[known] !== field) {
    throw new MeshError('invalid', `attributes: ${name} is ${known}, and comes as one of ${FIELD_NAMES[field]}`);
  } else values.set(name, value ?? defaultOf(known, dictionary));
}

function readValue(reader: WireReader, field: number, type: number, dictionary: Dictionary): Value {
  const expected = field === 2 || field === 3 || field === 5 ? Wire.VARINT : field === 4 ? Wire.FIXED64 : Wire.BYTES;
  if (type !== expected) throw new RangeError('another wire type');
  switch (field) {
    case 2:
      return dictionary.word(reader.sint32());
    case 3:
      return reader.int64();
    case 4:
      return reader.double();
    case 5:
      return reader.bool();
    case 6:
      return within(readNanos(reader), FIRST_TIME, END_OF_TIMES, 'a timestamp is in the years 1 to 9999');
    case 7:
      return within(readNanos(reader), -LONGEST_SPAN, END_OF_SPANS, 'a duration is of 10000 years at most');
    case 8:
      return addressFrom(reader.bytes());
    default:
      return readStringMap(reader, dictionary);
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
function readNanos(reader: WireReader): bigint {
  let [seconds, nanos] = [0n, 0];
  const outer = reader.enter();
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === KEY_INDEX) seconds = reader.int64();
    else if (tag === VALUE_INDEX) nanos = reader.uint32() | 0;
    else reader.skip(tag);
  }
  reader.leave(outer);
  return seconds * NANOS + BigInt(nanos);
}

/** `end` is the first that is too great. */
function within(nanos: bigint, first: bigint, end: bigint, rule: string): bigint {
  if (nanos < first || nanos >= end) throw new MeshError('invalid', `attributes: ${rule}`);
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

function readStringMap(reader: WireReader, dictionary: Dictionary): StringMap {
  const entries = new Map<string, string>();
  const outer = reader.enter();
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === MAP_ENTRY) readPair(reader, dictionary, entries);
    else reader.skip(tag);
  }
  reader.leave(outer);
  return entries;
}

function readPair(reader: WireReader, dictionary: Dictionary, entries: Map<string, string>): void {
  let [key, value] = [0, 0];
  const outer = reader.enter();
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === KEY_INDEX) key = reader.sint32();
    else if (tag === VALUE_INDEX) value = reader.sint32();
    else reader.skip(tag);
  }
  reader.leave(outer);
  entries.set(dictionary.word(key), dictionary.word(value));
}
