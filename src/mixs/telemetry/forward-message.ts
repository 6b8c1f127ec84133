/** Fluentd's forward protocol: https://github.com/fluent/fluentd/wiki/Forward-Protocol-Specification-v1 */
import { EventTime, type Packable, packMessage } from './message-pack.ts';

const NANOS_PER_S = 1_000_000_000n;
/** What EventTime has room for. */
const LAST_SECOND = 0xffff_ffffn;

/** One entry, of those that stand together in a message. `nanos` since 1970. */
export function packEntry(nanos: bigint, record: Readonly<Record<string, Packable>>): Buffer {
  return packMessage([timeOf(nanos), record]);
}

function timeOf(nanos: bigint): Packable {
  const fraction = ((nanos % NANOS_PER_S) + NANOS_PER_S) % NANOS_PER_S;
  const seconds = (nanos - fraction) / NANOS_PER_S;
  return seconds >= 0n && seconds <= LAST_SECOND ? new EventTime(Number(seconds), Number(fraction)) : seconds;
}

/** Entries as one message (PackedForward Mode) that asks to be acknowledged by its chunk. */
export function packForward(tag: string, entries: readonly Uint8Array[], chunk: string): Buffer {
  return packMessage([tag, Buffer.concat(entries), { size: BigInt(entries.length), chunk }]);
}

/** What a server has sent so far: the chunk that it acknowledges, the beginning of such an answer, or something else. */
export type ForwardAnswer = { readonly ack: string } | 'incomplete' | 'something else';

/** Reads `{"ack": chunk}`: a map of texts, and nothing behind it. */
export function readAnswer(bytes: Buffer): ForwardAnswer {
  const reader = new TextReader(bytes);
  const [first] = bytes;
  if (first === undefined) return 'incomplete';
  if (first < 0x80 || first > 0x8f) return 'something else';
  let ack: string | undefined;
  for (let left = first & 0x0f; left > 0; left--) {
    const [key, value] = [reader.next(), reader.next()];
    if (key === 'something else' || value === 'something else') return 'something else';
    if (key === 'incomplete' || value === 'incomplete') return 'incomplete';
    if (key.text === 'ack') ack = value.text;
  }
  return ack === undefined || !reader.isAtEnd ? 'something else' : { ack };
}

class TextReader {
  readonly #bytes: Buffer;
  #at = 1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** A text, or bytes taken for one: what older servers write. */
  next(): { readonly text: string } | 'incomplete' | 'something else' {
    const kind = this.#bytes[this.#at];
    if (kind === undefined) return 'incomplete';
    const isShort = kind >= 0xa0 && kind <= 0xbf;
    if (!isShort && kind !== 0xd9 && kind !== 0xc4) return 'something else';
    const length = isShort ? kind & 0x1f : this.#bytes[this.#at + 1];
    if (length === undefined) return 'incomplete';
    const begin = this.#at + (isShort ? 1 : 2);
    if (begin + length > this.#bytes.length) return 'incomplete';
    this.#at = begin + length;
    return { text: this.#bytes.toString('utf8', begin, this.#at) };
  }
}
