/** MessagePack: https://github.com/msgpack/msgpack/blob/master/spec.md */

/** What can be written. Integers are bigints, so that a number is a float always, whatever its value. */
export type Packable =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | EventTime
  | readonly Packable[]
  | { readonly [key: string]: Packable };

/** Fluentd's time with nanoseconds: an extension of type 0. Seconds since 1970, in 32 bits without sign. */
export class EventTime {
  readonly seconds: number;
  readonly nanoseconds: number;

  constructor(seconds: number, nanoseconds: number) {
    this.seconds = seconds;
    this.nanoseconds = nanoseconds;
  }
}

const EVENT_TIME_TYPE = 0;

/** Integers that do not fit into 64 bits are wrapped, and unpaired surrogates in text become U+FFFD. */
export function packMessage(value: Packable): Buffer {
  const parts: Uint8Array[] = [];
  write(value, parts);
  return Buffer.concat(parts);
}

function write(value: Packable, parts: Uint8Array[]): void {
  if (value === null) parts.push(Uint8Array.of(0xc0));
  else if (typeof value === 'boolean') parts.push(Uint8Array.of(value ? 0xc3 : 0xc2));
  else if (typeof value === 'bigint') parts.push(integer(value));
  else if (typeof value === 'number') parts.push(float(value));
  else if (typeof value === 'string') {
    const text = Buffer.from(value);
    parts.push(head(text.length, TEXT), text);
  } else if (value instanceof Uint8Array) parts.push(head(value.length, BINARY), value);
  else if (value instanceof EventTime) parts.push(eventTime(value));
  else if (isList(value)) {
    parts.push(head(value.length, LIST));
    for (const item of value) write(item, parts);
  } else writeMap(Object.entries(value), parts);
}

function writeMap(entries: readonly (readonly [string, Packable])[], parts: Uint8Array[]): void {
  parts.push(head(entries.length, MAP));
  for (const [key, item] of entries) {
    write(key, parts);
    write(item, parts);
  }
}

const isList = (value: Packable): value is readonly Packable[] => Array.isArray(value);

/** The ways to write a length: within the first byte, or in 1, 2 or 4 bytes behind one that says so. */
interface Heads {
  readonly fixed: { readonly base: number; readonly limit: number } | undefined;
  readonly one: number | undefined;
  readonly two: number;
  readonly four: number;
}

const TEXT: Heads = { fixed: { base: 0xa0, limit: 32 }, one: 0xd9, two: 0xda, four: 0xdb };
const BINARY: Heads = { fixed: undefined, one: 0xc4, two: 0xc5, four: 0xc6 };
const LIST: Heads = { fixed: { base: 0x90, limit: 16 }, one: undefined, two: 0xdc, four: 0xdd };
const MAP: Heads = { fixed: { base: 0x80, limit: 16 }, one: undefined, two: 0xde, four: 0xdf };

function head(length: number, { fixed, one, two, four }: Heads): Buffer {
  if (fixed !== undefined && length < fixed.limit) return Buffer.from([fixed.base | length]);
  if (one !== undefined && length < 0x100) return Buffer.from([one, length]);
  if (length < 0x1_0000) return Buffer.from([two, length >> 8, length & 0xff]);
  const bytes = Buffer.alloc(5, four);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

/** The shortest form that there is. */
function integer(value: bigint): Buffer {
  const wrapped = BigInt.asIntN(64, value);
  const small = Number(wrapped);
  if (small >= -0x20 && small < 0x80) return Buffer.from([small & 0xff]);
  if (small >= -0x80 && small < 0x80) return Buffer.from([0xd0, small & 0xff]);
  if (small >= -0x8000 && small < 0x8000) return Buffer.from([0xd1, (small >> 8) & 0xff, small & 0xff]);
  if (small >= -0x8000_0000 && small < 0x8000_0000) {
    const bytes = Buffer.alloc(5, 0xd2);
    bytes.writeInt32BE(small, 1);
    return bytes;
  }
  const bytes = Buffer.alloc(9, 0xd3);
  bytes.writeBigInt64BE(wrapped, 1);
  return bytes;
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(9, 0xcb);
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

function eventTime({ seconds, nanoseconds }: EventTime): Buffer {
  const bytes = Buffer.from([0xd7, EVENT_TIME_TYPE, 0, 0, 0, 0, 0, 0, 0, 0]);
  bytes.writeUInt32BE(seconds, 2);
  bytes.writeUInt32BE(nanoseconds, 6);
  return bytes;
}
