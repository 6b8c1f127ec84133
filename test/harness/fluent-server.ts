/** A server of Fluentd's forward protocol that reads with a MessagePack library which is not ours, and answers as a test wants it to. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { decodeMulti, decodeMultiStream, ExtensionCodec, encode } from '@msgpack/msgpack';

/** What becomes of a message: `hold` waits for `release`, `close` ends the connection when its first bytes are there. */
export type FluentAnswer = 'ack' | 'piecemeal' | 'silence' | 'hold' | 'close' | 'drop' | Uint8Array;

export interface FluentEntry {
  readonly tag: string;
  /** Nanoseconds since 1970 of an EventTime; seconds as they are written otherwise. */
  readonly time: unknown;
  readonly record: Readonly<Record<string, unknown>>;
}

interface Message {
  readonly tag: string;
  readonly size: unknown;
  readonly chunk: string;
  readonly entries: readonly FluentEntry[];
}

const codec = new ExtensionCodec();
codec.register({
  type: 0,
  encode: () => null,
  decode: (data) => {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    return BigInt(view.getUint32(0)) * 1_000_000_000n + BigInt(view.getUint32(4));
  },
});
const DECODING = { extensionCodec: codec, useBigInt64: true };

export class FluentServer {
  /** All that came whole, in turn. */
  readonly messages: Message[] = [];
  /** Of acknowledged messages. */
  readonly taken: FluentEntry[] = [];
  connections = 0;
  readonly #answers: FluentAnswer[];
  readonly #otherwise: FluentAnswer;
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<() => void>();
  readonly #held: (() => void)[] = [];
  #server: Server | undefined;
  #port = 0;

  /** The first messages get these answers, one each; all others the last. */
  constructor(answers: readonly FluentAnswer[] = [], otherwise: FluentAnswer = 'ack') {
    this.#answers = [...answers];
    this.#otherwise = otherwise;
  }

  get port(): number {
    return this.#port;
  }

  /** On the port that it had, if it was started before, or on one that is given. */
  async start(port = this.#port): Promise<this> {
    const server = createServer((socket) => void this.#serve(socket));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
    return this;
  }

  /** Ends when the clients have noticed. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    // An acknowledgement that is on its way still arrives.
    for (const socket of this.#sockets) socket.end();
    await closed;
  }

  /** Acknowledges what is held. */
  release(): void {
    for (const answer of this.#held.splice(0)) answer();
  }

  /** Resolves when something holds that messages or connections may change. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #tell(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  async #serve(socket: Socket): Promise<void> {
    this.connections++;
    this.#sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    this.#tell();
    try {
      for await (const message of decodeMultiStream(this.#bytesOf(socket), DECODING)) this.#take(socket, message);
    } catch {
      // What was cut off is no message.
      socket.destroy();
    }
  }

  async *#bytesOf(socket: Socket): AsyncGenerator<Uint8Array> {
    for await (const chunk of socket) {
      if (this.#answers[0] === 'close') {
        this.#answers.shift();
        socket.destroy();
        return;
      }
      yield chunk;
    }
  }

  #take(socket: Socket, decoded: unknown): void {
    const [tag, packed, { size, chunk }] = decoded as [string, Uint8Array, { size: unknown; chunk: string }];
    const entries = [...decodeMulti(packed, DECODING)].map((entry) => {
      const [time, record] = entry as [unknown, Readonly<Record<string, unknown>>];
      return { tag, time, record };
    });
    this.messages.push({ tag, size, chunk, entries });
    const acknowledge = (write: (bytes: Uint8Array) => void): void => {
      this.taken.push(...entries);
      write(encode({ ack: chunk }));
    };
    const answer = this.#answers.shift() ?? this.#otherwise;
    switch (answer) {
      case 'ack':
        acknowledge((bytes) => socket.write(bytes));
        break;
      case 'piecemeal':
        acknowledge((bytes) => {
          socket.setNoDelay(true);
          for (const byte of bytes) socket.write(Uint8Array.of(byte));
        });
        break;
      case 'hold':
        this.#held.push(() => acknowledge((bytes) => socket.write(bytes)));
        break;
      case 'drop':
        socket.destroy();
        break;
      case 'close':
      case 'silence':
        break;
      default:
        socket.write(answer);
    }
    this.#tell();
  }
}
