import { constants, type ServerHttp2Stream } from 'node:http2';
import { MeshError } from '../../lib/errors.ts';
import { compress, type Encoding } from './encoding.ts';
import { framed, messageHeader } from './framing.ts';
import { Response } from './response.ts';
import { type GrpcStatus, OK } from './status.ts';

/** How long a client may take to read what was written before its call ended. */
const LAST_WORDS_MS = 5_000;

/** gRPC tells no date. */
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false };
const AT_ITS_END = { endStream: true, sendDate: false };
/** Made once: for most calls nobody looks at it, and a stack costs more than the rest of a call's end. */
const OVER = new MeshError('cancelled', 'the call is over');

/** The response side of one call: writes messages, and ends exactly once. */
export class Call {
  readonly response: Response;
  readonly #stream: ServerHttp2Stream;
  readonly #encoding: Encoding;
  readonly #sent: (bytes: number) => void;
  /** Made when a handler asks for its signal: most calls end before anybody does. */
  #abort: AbortController | undefined;
  readonly #writes = new Set<(error: MeshError) => void>();
  #compressing: Promise<unknown> = Promise.resolve();
  #state: 'opening' | 'responding' | 'answering' | 'ended' = 'opening';
  /** What the trailers tell once it is time for them. */
  #status: GrpcStatus = OK;

  /** `sent` is told the size of every message. */
  constructor(stream: ServerHttp2Stream, encoding: Encoding, sent: (bytes: number) => void) {
    this.response = new Response(encoding);
    this.#stream = stream;
    this.#encoding = encoding;
    this.#sent = sent;
    stream.once('close', () => this.#over());
    // Reset without an error code, a stream stays open in Node until everything is read that came before.
    stream.once('aborted', () => stream.destroy());
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#state === 'ended') this.#abort.abort(OVER);
    }
    return this.#abort.signal;
  }

  /** See ServerStream.write. Unless they are compressed, the chunks go to the transport as they are: many calls may share them. */
  async write(chunks: readonly Uint8Array[]): Promise<void> {
    if (this.#encoding === 'identity') return this.#send(chunks, false);
    const turn = this.#compressing.then(() => compress(chunks));
    this.#compressing = turn.catch(() => {});
    const compressed = await turn;
    return compressed === undefined ? this.#send(chunks, false) : this.#send([compressed], true);
  }

  /**
   * The one message of a response and its end, which so reach the transport in one piece: written one after the other they are records
   * and system calls of their own. Resolves and rejects as `write`; a status that `end` is given meanwhile is the one that counts.
   */
  async answer(message: Uint8Array): Promise<void> {
    const compressed = this.#encoding === 'identity' ? undefined : await compress([message]);
    if (this.#isOver()) throw OVER;
    this.#respond();
    this.#state = 'answering';
    const body = compressed ?? message;
    this.#sent(body.length);
    this.#endWith(OK);
    await this.#written((done) => this.#stream.end(framed(body, compressed !== undefined), done));
  }

  /** Waits until everything that was written is on its way to the transport. */
  async flush(): Promise<void> {
    await this.#compressing;
  }

  /** Ends the call; what comes after the first time is ignored. */
  end(status: GrpcStatus): void {
    if (this.#state === 'ended') return;
    const before = this.#state;
    this.#state = 'ended';
    if (!this.#stream.destroyed && !this.#stream.closed) {
      if (before === 'opening') this.#refuse(status);
      else this.#endResponse(status, before === 'answering');
    }
    this.#over();
  }

  #isOver(): boolean {
    return this.#state === 'ended' || this.#stream.closed || this.#stream.destroyed;
  }

  #send(chunks: readonly Uint8Array[], compressed: boolean): Promise<void> {
    if (this.#isOver()) return Promise.reject(OVER);
    this.#respond();
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    this.#sent(length);
    const parts = [messageHeader(length, compressed), ...chunks.filter((chunk) => chunk.length > 0)];
    const last = parts.pop();
    return this.#written((done) => {
      this.#stream.cork();
      for (const part of parts) this.#stream.write(part);
      this.#stream.write(last, done);
      this.#stream.uncork();
    });
  }

  /** Resolves when the transport has taken what `write` gives it. */
  #written(write: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writes.add(reject);
      write((error) => {
        this.#writes.delete(reject);
        if (error) reject(new MeshError('cancelled', 'the call is over', error));
        else resolve();
      });
    });
  }

  #respond(): void {
    if (this.#state !== 'opening') return;
    this.#state = 'responding';
    this.#stream.respond(this.response.takeHeaders(), WITH_TRAILERS);
  }

  #refuse(status: GrpcStatus): void {
    this.#stream.respond(this.response.takeTrailersOnly(status), AT_ITS_END);
    this.#stopRequest();
  }

  #endWith(status: GrpcStatus): void {
    this.#status = status;
    this.#stream.once('wantTrailers', () => {
      this.#stream.sendTrailers(this.response.trailers(this.#status));
      this.#stopRequest();
    });
  }

  #endResponse(status: GrpcStatus, isAnswered: boolean): void {
    if (isAnswered) {
      this.#status = status;
    } else {
      this.#endWith(status);
      this.#stream.end();
    }
    if (this.#writes.size === 0) return;
    // The trailers queue behind data that the client may never take; then a reset is all that reaches it.
    const timer = setTimeout(() => this.#stream.close(constants.NGHTTP2_CANCEL), LAST_WORDS_MS);
    this.#stream.once('close', () => clearTimeout(timer));
  }

  /** Tells a client that is still sending to stop, once the whole response is under way (RFC 9113 section 8.1). */
  #stopRequest(): void {
    if (this.#stream.readableEnded) return;
    this.#stream.resume();
    // Not at once: a reset overtakes the trailers that Node has yet to write.
    setImmediate(() => {
      if (!this.#stream.readableEnded && !this.#stream.closed) this.#stream.close(constants.NGHTTP2_NO_ERROR);
    });
  }

  #over(): void {
    this.#state = 'ended';
    if (this.#writes.size > 0) {
      for (const reject of this.#writes) reject(OVER);
      this.#writes.clear();
    }
    if (this.#abort?.signal.aborted === false) this.#abort.abort(OVER);
  }
}
