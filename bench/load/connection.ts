import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import {
  ACK,
  call,
  END_STREAM,
  type Field,
  FRAME_HEADER_BYTES,
  FrameType,
  frame,
  grpcMessage,
  headerBlocks,
  isOk,
  opening,
} from './http2-wire.ts';

export interface Target {
  readonly protocol: 'gRPC' | 'HTTP/1.1';
  readonly port: number;
  readonly path: string;
  /** Beside those that every call has. */
  readonly fields: readonly Field[];
  /** PEM of the root of a server that speaks TLS, and the name in its certificate. */
  readonly tls?: { readonly ca: string; readonly name: string };
}

/** One connection that makes calls, and finds out when each is answered. */
export interface Caller {
  /** Whether one more call may be made at once. */
  readonly isFree: boolean;
  /** `begin` comes back with the answer: when the call was due. */
  send(message: Uint8Array, begin: number): void;
  close(): void;
}

/** Told of answers, and of what must not happen. */
export interface Listener {
  readonly answered: (begin: number) => void;
  readonly failed: (why: string) => void;
}

/** Below what servers allow; what is beyond it waits, and its wait counts. */
const MOST_STREAMS = 1_000;

/** gRPC over HTTP/2. */
export class GrpcConnection implements Caller {
  readonly #socket: Socket;
  readonly #blocks: { readonly first: Buffer; readonly later: Buffer };
  readonly #begins = new Map<number, number>();
  readonly #answered: (begin: number) => void;
  readonly #failed: (why: string) => void;
  #nextStream = 1;
  #rest: Buffer = Buffer.alloc(0);

  constructor(target: Target, { answered, failed }: Listener) {
    const socket = connectTo(target, 'h2');
    this.#socket = socket;
    this.#answered = answered;
    this.#failed = failed;
    this.#blocks = headerBlocks([
      [':method', 'POST'],
      [':scheme', target.tls === undefined ? 'http' : 'https'],
      [':path', target.path],
      [':authority', target.tls?.name ?? '127.0.0.1'],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ...target.fields,
    ]);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => failed(error.message));
    socket.on('close', () => {
      if (this.#begins.size > 0) failed('the connection was closed');
    });
    socket.write(opening());
  }

  get isFree(): boolean {
    return this.#begins.size < MOST_STREAMS;
  }

  send(message: Uint8Array, begin: number): void {
    const body = grpcMessage(message);
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#begins.set(stream, begin);
    this.#socket.write(call(stream, stream === 1 ? this.#blocks.first : this.#blocks.later, body));
  }

  close(): void {
    this.#begins.clear();
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      this.#frame(
        bytes[at + 3] ?? 0,
        bytes[at + 4] ?? 0,
        bytes.readUInt32BE(at + 5),
        bytes.subarray(at + FRAME_HEADER_BYTES, end),
      );
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === FrameType.HEADERS && (flags & END_STREAM) !== 0) this.#ended(stream, payload);
    else if (type === FrameType.SETTINGS && (flags & ACK) === 0)
      this.#socket.write(frame(FrameType.SETTINGS, ACK, 0, Buffer.alloc(0)));
    else if (type === FrameType.PING && (flags & ACK) === 0) this.#socket.write(frame(FrameType.PING, ACK, 0, payload));
    else if (type === FrameType.RST_STREAM && this.#begins.has(stream))
      this.#failed(`a call was reset with ${payload.readUInt32BE(0)}`);
    else if (type === FrameType.GOAWAY) this.#failed(`the server goes away: ${payload.readUInt32BE(4)}`);
  }

  #ended(stream: number, trailers: Buffer): void {
    const begin = this.#begins.get(stream);
    this.#begins.delete(stream);
    if (!isOk(trailers)) this.#failed(`a call failed: trailers ${trailers.toString('latin1')}`);
    else if (begin !== undefined) this.#answered(begin);
  }
}

export function connectTo({ port, tls }: Target, protocol: 'h2' | 'http/1.1'): Socket {
  if (tls === undefined) return connectTcp({ port, host: '127.0.0.1', noDelay: true });
  const socket = connectTls({ port, host: '127.0.0.1', servername: tls.name, ca: tls.ca, ALPNProtocols: [protocol] });
  socket.setNoDelay(true);
  return socket;
}
