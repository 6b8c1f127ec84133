/**
 * As much of HTTP/2 (RFC 9113, RFC 7541) as a load of gRPC calls needs, made by hand: a client on node:http2 takes more CPU time than the server
 * that it is to measure.
 */

export const FRAME_HEADER_BYTES = 9;
export const FrameType = { DATA: 0, HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8 } as const;
export const ACK = 1;
export const END_STREAM = 1;
const END_HEADERS = 4;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const MAX_WINDOW_GAIN = 2 ** 31 - 1 - 65_535;

export type Field = readonly [name: string, value: string];

export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

/** What a client opens a connection with: default settings, and a window that no run of ours fills. */
export function opening(): Buffer {
  const gain = Buffer.alloc(4);
  gain.writeUInt32BE(MAX_WINDOW_GAIN);
  return Buffer.concat([
    Buffer.from(PREFACE),
    frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(0)),
    frame(FrameType.WINDOW_UPDATE, 0, 0, gain),
  ]);
}

/** Of the static table. */
const STATIC_NAMES: Readonly<Record<string, number>> = {
  ':authority': 1,
  ':path': 4,
  ':method': 2,
  ':scheme': 6,
  'content-type': 31,
  authorization: 23,
};
const FIRST_DYNAMIC = 62;

/** The same fields for the first call of a connection, which puts them into the peer's table, and for those that follow, as proxies do. */
export function headerBlocks(fields: readonly Field[]): { readonly first: Buffer; readonly later: Buffer } {
  const first = fields.map(([name, value]) => {
    const index = STATIC_NAMES[name];
    return Buffer.concat([
      index === undefined ? Buffer.concat([Buffer.of(0x40), text(name)]) : Buffer.of(0x40 | index),
      text(value),
    ]);
  });
  const later = fields.map((_, index) => 0x80 | (FIRST_DYNAMIC + fields.length - 1 - index));
  return { first: Buffer.concat(first), later: Buffer.from(later) };
}

/** A string literal that is not Huffman-coded: length with a prefix of 7 bits. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

/** A call in one piece. `body` is framed already, as `grpcMessage` does. */
export function call(stream: number, block: Uint8Array, body: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(2 * FRAME_HEADER_BYTES + block.length + body.length);
  bytes.writeUIntBE(block.length, 0, 3);
  bytes[3] = FrameType.HEADERS;
  bytes[4] = END_HEADERS;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(block, FRAME_HEADER_BYTES);
  const data = FRAME_HEADER_BYTES + block.length;
  bytes.writeUIntBE(body.length, data, 3);
  bytes[data + 3] = FrameType.DATA;
  bytes[data + 4] = END_STREAM;
  bytes.writeUInt32BE(stream, data + 5);
  bytes.set(body, data + FRAME_HEADER_BYTES);
  return bytes;
}

/** A message with its prefix of five bytes. */
export function grpcMessage(body: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5 + body.length);
  bytes.writeUInt32BE(body.length, 1);
  bytes.set(body, 5);
  return bytes;
}

/** `grpc-status: 0` as nghttp2 writes it the first time; afterwards it is one byte, an index. */
const STATUS_OK = Buffer.from('40889acac8b21234da8f0130', 'hex');

/** Whether trailers tell OK. Another status is a literal when it comes for the first time, and so is found at least once. */
export function isOk(trailers: Uint8Array): boolean {
  return trailers.length === 1 || STATUS_OK.equals(trailers);
}
