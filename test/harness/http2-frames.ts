/** HTTP/2 written frame by frame (RFC 9113), for what no honest client sends. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export const Frame = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const Flag = { NONE: 0, ACK: 1, END_STREAM: 1, END_HEADERS: 4 } as const;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const HEADER_BYTES = 9;

export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export const resetFrame = (stream: number, code = 8): Buffer => frame(Frame.RST_STREAM, Flag.NONE, stream, uint32(code));
export const pingFrame = (flags = 0): Buffer => frame(Frame.PING, flags, 0, Buffer.alloc(8));

/** Header fields as HPACK literals without indexing or Huffman code (RFC 7541 section 6.2.2). */
export function hpack(fields: Iterable<readonly [string, string]>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields) parts.push(Buffer.of(0), hpackText(name), hpackText(value));
  return Buffer.concat(parts);
}

function hpackText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([hpackLength(bytes.length), bytes]);
}

/** An integer with a prefix of seven bits (RFC 7541 section 5.1). */
function hpackLength(length: number): Buffer {
  if (length < 127) return Buffer.of(length);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

export function requestFields(path: string, extra: Readonly<Record<string, string>> = {}): [string, string][] {
  const fields = { ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'test', ...extra };
  return Object.entries({ 'content-type': 'application/grpc', ...fields }).sort(
    ([a], [b]) => Number(b[0] === ':') - Number(a[0] === ':'),
  );
}

/** The HEADERS frame that opens a gRPC call. */
export function openFrame(stream: number, path: string, extra: Readonly<Record<string, string>> = {}): Buffer {
  return frame(Frame.HEADERS, Flag.END_HEADERS, stream, hpack(requestFields(path, extra)));
}

/** One connection: writes what it is given, collects what comes, and answers nothing unless told to. */
export class RawConnection {
  readonly frames: ReceivedFrame[] = [];
  readonly #socket: Socket;
  readonly #changed = new EventTarget();
  #rest: Buffer = Buffer.alloc(0);
  #closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('data', (chunk) => this.#received(chunk));
    socket.on('close', () => {
      this.#closed = true;
      this.#changed.dispatchEvent(new Event('change'));
    });
  }

  /** Connects and says hello, unless `hello` says otherwise. */
  static async open(
    port: number,
    hello: Buffer = Buffer.concat([PREFACE, frame(Frame.SETTINGS, Flag.NONE, 0)]),
  ): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const connection = new RawConnection(socket);
    if (hello.length > 0) await connection.write(hello);
    return connection;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves when the kernel has taken the bytes, or the connection is gone. */
  async write(...frames: readonly Buffer[]): Promise<void> {
    if (this.#closed || !this.#socket.writable) return;
    await new Promise<void>((resolve) => {
      this.#socket.once('close', resolve);
      this.#socket.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames), () => {
        this.#socket.off('close', resolve);
        resolve();
      });
    });
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The first frame that matches, once it is there; undefined when the connection ended without one. */
  async first(matches: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame | undefined> {
    for (;;) {
      const found = this.frames.find(matches);
      if (found !== undefined || this.#closed) return found;
      await once(this.#changed, 'change');
    }
  }

  async ended(): Promise<void> {
    while (!this.#closed) await once(this.#changed, 'change');
  }

  /** The error code of the last GOAWAY, undefined when none came. */
  get goaway(): number | undefined {
    return this.frames.findLast(({ type }) => type === Frame.GOAWAY)?.payload.readUInt32BE(4);
  }

  #received(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) break;
      const [type, flags] = [this.#rest.readUInt8(3), this.#rest.readUInt8(4)];
      this.frames.push({ type, flags, stream: this.#rest.readUInt32BE(5), payload: this.#rest.subarray(HEADER_BYTES, end) });
      this.#rest = this.#rest.subarray(end);
    }
    this.#changed.dispatchEvent(new Event('change'));
  }
}
