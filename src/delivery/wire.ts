/** Writing length-delimited protobuf fields into buffers of the exact size, https://protobuf.dev/programming-guides/encoding/ */

/** One field to write: its number (1 to 15) and its content. */
export type Field = readonly [number: number, content: Uint8Array | string | readonly Field[]];

const LENGTH_DELIMITED = 2;

export function encodeFields(fields: readonly Field[]): Buffer {
  const buffer = Buffer.allocUnsafeSlow(sizeOfAll(fields));
  writeAll(buffer, 0, fields);
  return buffer;
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) size += 1;
  return size;
}

function contentSize(content: Field[1]): number {
  if (typeof content === 'string') return Buffer.byteLength(content);
  return content instanceof Uint8Array ? content.length : sizeOfAll(content);
}

function sizeOfAll(fields: readonly Field[]): number {
  let size = 0;
  for (const [, content] of fields) {
    const length = contentSize(content);
    size += 1 + varintSize(length) + length;
  }
  return size;
}

function writeAll(buffer: Buffer, start: number, fields: readonly Field[]): number {
  let at = start;
  for (const [number, content] of fields) {
    buffer[at++] = (number << 3) | LENGTH_DELIMITED;
    at = writeVarint(buffer, at, contentSize(content));
    at = writeContent(buffer, at, content);
  }
  return at;
}

function writeContent(buffer: Buffer, at: number, content: Field[1]): number {
  if (typeof content === 'string') return at + buffer.write(content, at);
  if (!(content instanceof Uint8Array)) return writeAll(buffer, at, content);
  buffer.set(content, at);
  return at + content.length;
}

function writeVarint(buffer: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest > 0x7f) {
    buffer[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buffer[at++] = rest;
  return at;
}
