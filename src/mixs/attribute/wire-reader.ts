/**
 * Reads the protobuf wire format (https://protobuf.dev/programming-guides/encoding/) in one pass and in place: every request of the API has
 * dozens of little messages in one, and a reader, a tuple or a slice for each of them would be a third of what a request allocates.
 */
export const Wire = { VARINT: 0, FIXED64: 1, BYTES: 2, FIXED32: 5 } as const;

/** Every method throws a RangeError when the message is cut off or malformed. */
export class WireReader {
  readonly #bytes: Buffer;
  #position = 0;
  #end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#end = bytes.length;
  }

  /** The next tag: a field's number shifted by three, and its wire type; 0 at the end of the message. */
  tag(): number {
    if (this.#position >= this.#end) return 0;
    const begin = this.#position;
    const tag = this.uint32();
    const length = this.#position - begin;
    const isTooGreat = length > 5 || (length === 5 && (this.#bytes[begin + 4] ?? 0) > 0x0f);
    if (tag >>> 3 === 0 || isTooGreat) throw new RangeError('no tag');
    return tag;
  }

  /** Of longer varints the lower 32 bits, as protobuf has it. */
  uint32(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new RangeError('a number without an end');
  }

  sint32(): number {
    const value = this.uint32();
    return (value >>> 1) ^ -(value & 1);
  }

  int64(): bigint {
    let [value, factor] = [0, 1];
    // Seven bytes fit a number.
    for (let count = 0; count < 7; count++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return BigInt(value);
      factor *= 0x80;
    }
    let long = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      long |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, long);
    }
    throw new RangeError('a number without an end');
  }

  bool(): boolean {
    return this.int64() !== 0n;
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#advance(8));
  }

  /** Of a field of type BYTES; the bytes are those of the message. */
  bytes(): Buffer {
    const length = this.uint32();
    const begin = this.#advance(length);
    return this.#bytes.subarray(begin, begin + length);
  }

  /** Of a field of type BYTES: its text. */
  string(): string {
    const length = this.uint32();
    const begin = this.#advance(length);
    return this.#bytes.toString('utf8', begin, begin + length);
  }

  /** Goes into the message of a field of type BYTES, whose end is the reader's until it leaves; gives what to leave with. */
  enter(): number {
    const length = this.uint32();
    const outer = this.#end;
    if (length > outer - this.#position) throw new RangeError('cut off');
    this.#end = this.#position + length;
    return outer;
  }

  leave(outer: number): void {
    this.#end = outer;
  }

  /** Passes over the value of a field that nobody knows. */
  skip(tag: number): void {
    switch (tag & 7) {
      case Wire.VARINT:
        this.uint32();
        break;
      case Wire.FIXED64:
        this.#advance(8);
        break;
      case Wire.BYTES:
        this.#advance(this.uint32());
        break;
      case Wire.FIXED32:
        this.#advance(4);
        break;
      default:
        // Groups are older than the messages that are read here.
        throw new RangeError('another wire type');
    }
  }

  #byte(): number {
    if (this.#position >= this.#end) throw new RangeError('cut off');
    return this.#bytes[this.#position++] ?? 0;
  }

  /** Gives where it was. */
  #advance(length: number): number {
    const begin = this.#position;
    if (length > this.#end - begin) throw new RangeError('cut off');
    this.#position = begin + length;
    return begin;
  }
}
