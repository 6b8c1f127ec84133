/** Length-prefixed messages: one byte of flags, four of length, then the message. */
import { MeshError } from '../../lib/errors.ts';

const HEADER_BYTES = 5;
const COMPRESSED = 1;
const SMALLEST_BUFFER = 256;
const EMPTY = Buffer.alloc(0);

export interface Frame {
  readonly compressed: boolean;
  readonly payload: Buffer;
}

/** The prefix of a message of `length` bytes. */
export function messageHeader(length: number, compressed = false): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header[0] = compressed ? COMPRESSED : 0;
  header.writeUInt32BE(length, 1);
  return header;
}

/** A message with its prefix, in one piece. */
export function framed(message: Uint8Array, compressed = false): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + message.length);
  bytes[0] = compressed ? COMPRESSED : 0;
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, HEADER_BYTES);
  return bytes;
}

/**
 * Cuts a byte stream into messages. What it holds stays within twice the unfinished message and the chunk that overlaps it, however
 * small the chunks are: kept one by one, chunks of one byte would cost a hundred times their size.
 */
export class FrameReader {
  readonly #maxMessageSize: number;
  /** The unread bytes are #buffer[#start, #end). */
  #buffer: Buffer = EMPTY;
  #start = 0;
  #end = 0;
  /** Whether #buffer is ours to write to, behind #end. */
  #owned = false;

  constructor(maxMessageSize: number) {
    this.#maxMessageSize = maxMessageSize;
  }

  /** Bytes that wait for the rest of their message. */
  get buffered(): number {
    return this.#end - this.#start;
  }

  push(chunk: Buffer): void {
    if (this.buffered === 0) {
      this.#hold(chunk, chunk.length, false);
      return;
    }
    if (!this.#owned || this.#end + chunk.length > this.#buffer.length) this.#grow(chunk.length);
    this.#end += chunk.copy(this.#buffer, this.#end);
  }

  /** The next whole message; throws `resource_exhausted` as soon as the announced length is over the limit. */
  next(): Frame | undefined {
    if (this.buffered < HEADER_BYTES) return undefined;
    const flags = this.#buffer.readUInt8(this.#start);
    const length = this.#buffer.readUInt32BE(this.#start + 1);
    if (flags > COMPRESSED) throw new MeshError('internal', `a message starts with the unknown flags ${flags}`);
    if (length > this.#maxMessageSize) {
      throw new MeshError(
        'resource_exhausted',
        `a request message of ${length} bytes is over the limit of ${this.#maxMessageSize}`,
      );
    }
    if (this.buffered < HEADER_BYTES + length) return undefined;
    const begin = this.#start + HEADER_BYTES;
    const payload = this.#buffer.subarray(begin, begin + length);
    this.#start = begin + length;
    if (this.buffered === 0) this.#hold(EMPTY, 0, false);
    return { compressed: flags === COMPRESSED, payload };
  }

  /** Throws when the stream ended within a message. */
  finish(): void {
    if (this.buffered > 0) throw new MeshError('internal', `the request ended within a message, ${this.buffered} bytes into it`);
  }

  #hold(buffer: Buffer, end: number, owned: boolean): void {
    this.#buffer = buffer;
    this.#start = 0;
    this.#end = end;
    this.#owned = owned;
  }

  /** Moves to a buffer of twice the size: messages that were given out keep the old one, and copying stays linear. */
  #grow(more: number): void {
    const needed = this.buffered + more;
    const roomy = Math.min(2 * needed, HEADER_BYTES + this.#maxMessageSize);
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, roomy, SMALLEST_BUFFER));
    const end = this.#buffer.copy(grown, 0, this.#start, this.#end);
    this.#hold(grown, end, true);
  }
}
