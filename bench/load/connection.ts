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
  headerBlocks,
  isOk,
  opening,
} from './http2-wire.ts';

export interface Target {
  readonly port: number;
  readonly path: string;
  /** Beside those that every gRPC call has. */
  readonly fields: readonly Field[];
  /** PEM of the root of a server that speaks TLS, and the name in its certificate. */
  readonly tls?: { readonly ca: string; readonly name: string };
}

/** One HTTP/2 connection that makes gRPC calls, and finds out when each is answered. */
export class Connection {
  readonly #socket: Socket;
  readonly #blocks: { readonly first: Buffer; readonly later: Buffer };
  readonly #begins = new Map<number, number>();
  readonly #answered: (begin: number) => void;
  readonly #failed: (why: string) => void;
  #nextStream = 1;
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, target: Target, answered: (begin: number) => void, failed: (why: string) => void) {
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

  get running(): number {
    return this.#begins.size;
  }

  /** `begin` comes back with the answer: when the call was due. */
  send(body: Uint8Array, begin: number): void {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#begins.set(stream, begin);
    this.#socket.write(call(stream, stream === 1 ? this.#blocks.first : this.#blocks.later, body));
  }

  /** What is sent until `flush` goes out in one piece. */
  cork(): void {
    this.#socket.cork();
  }

  flush(): void {
    this.#socket.uncork();
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

export function connectTo({ port, tls }: Target): Socket {
  if (tls === undefined) return connectTcp({ port, host: '127.0.0.1', noDelay: true });
  const socket = connectTls({ port, host: '127.0.0.1', servername: tls.name, ca: tls.ca, ALPNProtocols: ['h2'] });
  socket.setNoDelay(true);
  return socket;
}
