import type { ServerHttp2Stream } from 'node:http2';
import { MeshError } from '../../lib/errors.ts';
import { decodeFrame, type Encoding } from './encoding.ts';
import { type Frame, FrameReader } from './framing.ts';
import type { ByteBudget } from './limits.ts';

/**
 * The request's messages in order. Reads from the transport only as fast as it is asked, so that a slow handler holds the client
 * back by flow control.
 */
export async function* requestMessages(
  stream: ServerHttp2Stream,
  encoding: Encoding,
  maxMessageSize: number,
  budget: ByteBudget,
): AsyncGenerator<Uint8Array> {
  const reader = new FrameReader(maxMessageSize);
  let held = 0;
  const hold = (bytes: number) => {
    budget.hold(bytes - held);
    held = bytes;
  };
  // A handler may leave this generator where it is, so its end is not the only place that gives back.
  stream.once('close', () => hold(0));
  try {
    // An iteration that is left early must not destroy the stream: the status is still to be sent on it.
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      reader.push(chunk);
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
        yield await decodeFrame(frame, encoding, maxMessageSize);
      }
      hold(reader.buffered);
    }
    reader.finish();
  } finally {
    hold(0);
  }
}

/**
 * The request of a unary call. Rejects with `unimplemented` for more or less than one message, and with `cancelled` when the call ends
 * before there is one. Listens to the stream itself: an iteration costs as much as the rest of a small call.
 */
export function onlyMessage(
  stream: ServerHttp2Stream,
  encoding: Encoding,
  maxMessageSize: number,
  budget: ByteBudget,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    new OnlyMessage({ stream, encoding, maxMessageSize, budget, resolve, reject }).listen();
  });
}

interface OnlyMessageOptions {
  readonly stream: ServerHttp2Stream;
  readonly encoding: Encoding;
  readonly maxMessageSize: number;
  readonly budget: ByteBudget;
  readonly resolve: (message: Uint8Array | Promise<Uint8Array>) => void;
  readonly reject: (thrown: unknown) => void;
}

/** Its listeners stay on the stream when it is done: to take them off costs more than to call them in vain. */
class OnlyMessage {
  readonly #options: OnlyMessageOptions;
  readonly #reader: FrameReader;
  #found: Frame | undefined;
  #held = 0;
  #isDone = false;

  constructor(options: OnlyMessageOptions) {
    this.#options = options;
    this.#reader = new FrameReader(options.maxMessageSize);
  }

  listen(): void {
    const { stream } = this.#options;
    if (stream.closed || stream.destroyed) {
      this.#cancelled();
      return;
    }
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('end', () => this.#ended());
    stream.on('close', () => this.#cancelled());
  }

  #read(chunk: Buffer): void {
    if (this.#isDone) return;
    try {
      this.#reader.push(chunk);
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
        if (this.#found !== undefined) throw oneMessage('another');
        this.#found = frame;
      }
      this.#hold(this.#reader.buffered);
    } catch (thrown) {
      this.#refuse(thrown);
    }
  }

  #ended(): void {
    const { stream, encoding, maxMessageSize, resolve } = this.#options;
    if (this.#isDone) return;
    // Node ends the readable side of a stream that was reset as if the client had half-closed it.
    if (stream.closed || stream.destroyed) {
      this.#cancelled();
      return;
    }
    try {
      this.#reader.finish();
      if (this.#found === undefined) throw oneMessage('none');
    } catch (thrown) {
      this.#refuse(thrown);
      return;
    }
    this.#done();
    resolve(this.#found.compressed ? decodeFrame(this.#found, encoding, maxMessageSize) : this.#found.payload);
  }

  #refuse(thrown: unknown): void {
    this.#options.stream.pause();
    this.#done();
    this.#options.reject(thrown);
  }

  #cancelled(): void {
    if (this.#isDone) return;
    this.#done();
    this.#options.reject(new MeshError('cancelled', 'the call is over'));
  }

  #done(): void {
    this.#isDone = true;
    this.#hold(0);
  }

  #hold(bytes: number): void {
    if (bytes === this.#held) return;
    this.#options.budget.hold(bytes - this.#held);
    this.#held = bytes;
  }
}

function oneMessage(got: string): MeshError {
  return new MeshError('unimplemented', `the method takes one request message, and got ${got}`);
}
