/** Length-prefixed messages: one byte of flags, four of length, then the message. */
import { MeshError } from '../../lib/errors.ts';

const HEADER_BYTES = 5;
const COMPRESSED = 1;

export interface Frame {
  readonly compressed: boolean;
  readonly payload: Buffer;
}

/** The prefix of an uncompressed message of `length` bytes. */
export function messageHeader(length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header[0] = 0;
  header.writeUInt32BE(length, 1);
  return header;
}

/** Cuts a byte stream into messages; holds at most one message and the chunk that overlaps it. */
export class FrameReader {
  readonly #maxMessageSize: number;
  #chunks: Buffer[] = [];
  #buffered = 0;

  constructor(maxMessageSize: number) {
    this.#maxMessageSize = maxMessageSize;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
  }

  /** The next whole message; throws `resource_exhausted` as soon as the announced length is over the limit. */
  next(): Frame | undefined {
    if (this.#buffered < HEADER_BYTES) return undefined;
    const header = this.#peekHeader();
    const flags = header.readUInt8(0);
    const length = header.readUInt32BE(1);
    if (flags > COMPRESSED) throw new MeshError('internal', `a message starts with the unknown flags ${flags}`);
    if (length > this.#maxMessageSize) {
      throw new MeshError(
        'resource_exhausted',
        `a request message of ${length} bytes is over the limit of ${this.#maxMessageSize}`,
      );
    }
    if (this.#buffered < HEADER_BYTES + length) return undefined;
    const bytes = this.#joined();
    const end = HEADER_BYTES + length;
    this.#chunks = end < bytes.length ? [bytes.subarray(end)] : [];
    this.#buffered -= end;
    return { compressed: flags === COMPRESSED, payload: bytes.subarray(HEADER_BYTES, end) };
  }

  /** Throws when the stream ended within a message. */
  finish(): void {
    if (this.#buffered > 0)
      throw new MeshError('internal', `the request ended within a message, ${this.#buffered} bytes into it`);
  }

  #peekHeader(): Buffer {
    const first = this.#chunks[0];
    return first !== undefined && first.length >= HEADER_BYTES ? first : this.#joined();
  }

  #joined(): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && this.#chunks.length === 1) return first;
    const joined = Buffer.concat(this.#chunks, this.#buffered);
    this.#chunks = [joined];
    return joined;
  }
}
