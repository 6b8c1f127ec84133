/**
 * Reads DER (ITU-T X.690), and nothing that is not: definite lengths in their shortest form, no byte left over, tags below 31. For
 * input of strangers; every mistake is a DerError, and no length is believed before it is checked against the bytes that are there.
 */

export const READ_TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  nothing: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  universalString: 0x1c,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

const CONSTRUCTED = 0x20;
/** NumericString, VideotexString, GraphicString, VisibleString, GeneralString and ENUMERATED are passed over at most. */
const UNIVERSAL: ReadonlySet<number> = new Set([...Object.values(READ_TAG), 0x0a, 0x12, 0x15, 0x19, 0x1a, 0x1b]);

/** Universal types of DER, and all else but tags of several bytes. */
function isKnown(tag: number): boolean {
  return tag < 0x40 ? UNIVERSAL.has(tag) : (tag & 0x1f) !== 0x1f;
}

const MAX_DEPTH = 16;

/** Context-specific tags: `primitive(6)` is the URI of a GeneralName, `constructed(0)` the attributes of a request. */
export const primitive = (number: number): number => 0x80 | number;
export const constructed = (number: number): number => 0xa0 | number;

/** What is not DER, or not what was expected. Caught where a whole document is read, never shown to a stranger in detail. */
export class DerError extends Error {}

/** Consumes the elements of one content, one after the other. */
export class DerReader {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end;
  }

  /** The tag of the next element; undefined at the end. */
  get nextTag(): number | undefined {
    return this.#at < this.#end ? this.#bytes[this.#at] : undefined;
  }

  /** The content of the next element, which must have this tag. */
  enter(tag: number): DerReader {
    const [start, end] = this.#consume(tag);
    return new DerReader(this.#bytes, start, end);
  }

  /** The same as bytes; a view, not a copy. */
  content(tag: number): Uint8Array {
    const [start, end] = this.#consume(tag);
    return this.#bytes.subarray(start, end);
  }

  /** The whole next element, header included; a view. */
  element(tag: number): Uint8Array {
    const from = this.#at;
    this.#consume(tag);
    return this.#bytes.subarray(from, this.#at);
  }

  /** Skips the next element, whatever it is, once it turned out to be DER down to its leaves. */
  skip(depth = 0): void {
    const tag = this.nextTag ?? 0;
    const inside = this.enter(tag);
    if ((tag & CONSTRUCTED) === 0) return;
    if (depth === MAX_DEPTH) throw new DerError('elements are nested too deeply');
    while (!inside.isAtEnd) inside.skip(depth + 1);
  }

  /** Throws unless everything was consumed. */
  finish(): void {
    if (!this.isAtEnd) throw new DerError('there is more than expected');
  }

  /** An INTEGER that is not negative and fits 31 bits. */
  smallInteger(): number {
    const content = this.unsignedInteger();
    if (content.length > 4 || (content[0] ?? 0) > 0x7f) throw new DerError('a number is too large');
    let value = 0;
    for (const byte of content) value = value * 256 + byte;
    return value;
  }

  /** The magnitude of an INTEGER that is not negative, without its sign byte. */
  unsignedInteger(): Uint8Array {
    const content = this.content(READ_TAG.integer);
    const first = content[0];
    if (first === undefined || first > 0x7f) throw new DerError('a number is missing or negative');
    if (first !== 0 || content.length === 1) return content;
    if ((content[1] ?? 0) < 0x80) throw new DerError('a number has needless leading zeros');
    return content.subarray(1);
  }

  boolean(): boolean {
    const content = this.content(READ_TAG.boolean);
    const value = content[0];
    if (content.length !== 1 || (value !== 0 && value !== 0xff)) throw new DerError('a boolean is neither true nor false');
    return value === 0xff;
  }

  /** The content of a BIT STRING of whole bytes. */
  wholeBytes(): Uint8Array {
    const content = this.content(READ_TAG.bitString);
    if (content[0] !== 0) throw new DerError('a bit string does not end with a byte');
    return content.subarray(1);
  }

  #consume(tag: number): readonly [start: number, end: number] {
    if (this.nextTag !== tag) throw new DerError(`tag ${tag} is expected, not ${this.nextTag}`);
    if (!isKnown(tag)) throw new DerError('the tag has a form that is not used in X.509');
    const [start, end] = this.#range();
    if (end > this.#end) throw new DerError('the content is cut short');
    if (tag === READ_TAG.objectIdentifier) requireIdentifier(this.#bytes, start, end);
    this.#at = end;
    return [start, end];
  }

  /** Of the content of the next element, by its length. */
  #range(): readonly [start: number, end: number] {
    const first = this.#byteAt(this.#at + 1);
    const short = this.#at + 2;
    if (first < 0x80) return [short, short + first];
    const digits = first & 0x7f;
    if (digits === 0 || digits > 3) throw new DerError('the length is indefinite or too large');
    let length = 0;
    for (let digit = 0; digit < digits; digit += 1) length = length * 256 + this.#byteAt(short + digit);
    if (length < 0x80 || length < 256 ** (digits - 1)) throw new DerError('the length is not in its shortest form');
    return [short + digits, short + digits + length];
  }

  #byteAt(index: number): number {
    const byte = index < this.#end ? this.#bytes[index] : undefined;
    if (byte === undefined) throw new DerError('the header is cut short');
    return byte;
  }
}

/** Every number of an identifier is in its shortest form and ends. */
function requireIdentifier(bytes: Uint8Array, start: number, end: number): void {
  let isInside = false;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (!isInside && byte === 0x80) throw new DerError('an object identifier is not in its shortest form');
    isInside = byte >= 0x80;
  }
  if (isInside || start === end) throw new DerError('an object identifier is cut short');
}

export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && Buffer.compare(left, right) === 0;
}

/** The dotted form of an object identifier's content, as DerReader gave it. */
export function dottedIdentifier(content: Uint8Array): string {
  let text = '';
  let part = 0;
  for (const byte of content) {
    part = part * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    text = text === '' ? firstTwo(part) : `${text}.${part}`;
    part = 0;
  }
  return text;
}

/** The first two numbers of an identifier stand in one. */
function firstTwo(part: number): string {
  const root = Math.min(2, Math.floor(part / 40));
  return `${root}.${part - root * 40}`;
}
