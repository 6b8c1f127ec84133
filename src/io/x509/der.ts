/** Writes DER (ITU-T X.690), as far as X.509 needs it. der-read.ts reads it. */
import { MeshError } from '../../lib/errors.ts';

/** Complete encodings: tag, length and content. */
export type Der = Uint8Array;

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  nothing: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

const CONTEXT = 0x80;
const CONSTRUCTED = 0x20;

/** How many bytes tell a length; the first of several tells how many follow. */
function lengthBytes(length: number): number {
  if (length < 0x80) return 1;
  if (length < 0x100) return 2;
  if (length < 0x10000) return 3;
  if (length < 0x1000000) return 4;
  throw new MeshError('invalid', `${length} bytes are too many for one part of a certificate`);
}

function encode(tag: number, ...contents: readonly Uint8Array[]): Der {
  let length = 0;
  for (const content of contents) length += content.length;
  const digits = lengthBytes(length);
  const der = Buffer.allocUnsafe(1 + digits + length);
  der[0] = tag;
  if (digits === 1) {
    der[1] = length;
  } else {
    der[1] = 0x80 | (digits - 1);
    der.writeUIntBE(length, 2, digits - 1);
  }
  let at = 1 + digits;
  for (const content of contents) {
    der.set(content, at);
    at += content.length;
  }
  return der;
}

export const sequence = (...items: readonly Der[]): Der => encode(TAG.sequence, ...items);

/** A SET of one element, the only kind that needs no sorting. */
export const setOf = (item: Der): Der => encode(TAG.set, item);

export const boolean = (value: boolean): Der => encode(TAG.boolean, Uint8Array.of(value ? 0xff : 0x00));

export const nothing: Der = encode(TAG.nothing);

export const octetString = (bytes: Uint8Array): Der => encode(TAG.octetString, bytes);

/** A BIT STRING of whole bytes. */
export const bitString = (bytes: Uint8Array): Der => encode(TAG.bitString, Uint8Array.of(0), bytes);

export const utf8String = (text: string): Der => encode(TAG.utf8String, Buffer.from(text, 'utf8'));

/** An explicitly tagged element, `[tag] EXPLICIT`. */
export const explicit = (tag: number, content: Der): Der => encode(CONTEXT | CONSTRUCTED | tag, content);

/** A primitive under an implicit tag, `[tag] IMPLICIT`, given by its content alone. */
export const implicit = (tag: number, content: Uint8Array): Der => encode(CONTEXT | tag, content);

/** Constructed elements under an implicit tag: `[tag] IMPLICIT SEQUENCE OF` or `SET OF`. */
export const implicitList = (tag: number, ...items: readonly Der[]): Der => encode(CONTEXT | CONSTRUCTED | tag, ...items);

/** An INTEGER from its big-endian magnitude: never negative, no needless leading zeros. */
export function unsignedInteger(magnitude: Uint8Array): Der {
  const first = magnitude.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Uint8Array.of(0) : magnitude.subarray(first);
  const needsSign = ((digits[0] ?? 0) & 0x80) !== 0;
  return needsSign ? encode(TAG.integer, Uint8Array.of(0), digits) : encode(TAG.integer, digits);
}

/** A BIT STRING of named bits, bit 0 first; trailing zero bits are left out as DER wants (X.690, 11.2.2). */
export function namedBits(bits: readonly number[]): Der {
  if (bits.length === 0) return encode(TAG.bitString, Uint8Array.of(0));
  const highest = Math.max(...bits);
  const bytes = new Uint8Array((highest >> 3) + 1);
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return encode(TAG.bitString, Uint8Array.of(7 - (highest & 7)), bytes);
}

/** Of the few that certificates need, each is encoded once. */
const identifiers = new Map<string, Der>();

/** An OBJECT IDENTIFIER from its dotted form; for those written in our code, not for ones from outside. */
export function objectIdentifier(dotted: string): Der {
  const known = identifiers.get(dotted);
  if (known !== undefined) return known;
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const der = encode(TAG.objectIdentifier, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
  identifiers.set(dotted, der);
  return der;
}

function base128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128)) groups.unshift((left % 128) | 0x80);
  return groups;
}

/** A Time of RFC 5280, 4.1.2.5: UTCTime until 2049, GeneralizedTime from 2050; fractions of a second are cut off. */
export function time(date: Date): Der {
  const year = date.getUTCFullYear();
  const rest = [date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()];
  const digits = `${year}${rest.map((part) => (part < 10 ? `0${part}` : part)).join('')}Z`;
  if (year < 1950 || year > 9999) throw new MeshError('invalid', `the year ${year} cannot stand in a certificate`);
  return year < 2050 ? encode(TAG.utcTime, Buffer.from(digits.slice(2))) : encode(TAG.generalizedTime, Buffer.from(digits));
}
