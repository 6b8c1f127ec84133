import { constants, type ServerHttp2Stream } from 'node:http2';
import { MeshError } from '../../lib/errors.ts';
import { compress, type Encoding } from './encoding.ts';
import { messageHeader } from './framing.ts';
import { Response } from './response.ts';
import type { GrpcStatus } from './status.ts';

/** How long a client may take to read what was written before its call ended. */
const LAST_WORDS_MS = 500;

/** The response side of one call: writes messages, and ends exactly once. */
export class Call {
  readonly response: Response;
  readonly #stream: ServerHttp2Stream;
  readonly #encoding: Encoding;
  readonly #sent: (bytes: number) => void;
  readonly #abort = new AbortController();
  readonly #writes = new Set<(error: MeshError) => void>();
  #compressing: Promise<unknown> = Promise.resolve();
  #state: 'opening' | 'responding' | 'ended' = 'opening';

  /** `sent` is told the size of every message. */
  constructor(stream: ServerHttp2Stream, encoding: Encoding, sent: (bytes: number) => void) {
    this.response = new Response(encoding);
    this.#stream = stream;
    this.#encoding = encoding;
    this.#sent = sent;
    stream.once('close', () => this.#over(new MeshError('cancelled', 'the call is over')));
    // Reset without an error code, a stream stays open in Node until everything is read that came before.
    stream.once('aborted', () => stream.destroy());
  }

  get signal(): AbortSignal {
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

  /** Waits until everything that was written is on its way to the transport. */
  async flush(): Promise<void> {
    await this.#compressing;
  }

  /** Ends the call; what comes after the first time is ignored. */
  end(status: GrpcStatus): void {
    if (this.#state === 'ended') return;
    const opening = this.#state === 'opening';
    this.#state = 'ended';
    if (!this.#stream.destroyed && !this.#stream.closed) {
      if (opening) this.#refuse(status);
      else this.#endResponse(status);
    }
    this.#over(new MeshError('cancelled', 'the call is over'));
  }

  #send(chunks: readonly Uint8Array[], compressed: boolean): Promise<void> {
    if (this.#state === 'ended' || this.#stream.closed || this.#stream.destroyed) {
      return Promise.reject(new MeshError('cancelled', 'the call is over'));
    }
    this.#respond();
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    this.#sent(length);
    const parts = [messageHeader(length, compressed), ...chunks.filter((chunk) => chunk.length > 0)];
    const last = parts.pop();
    return new Promise((resolve, reject) => {
      this.#writes.add(reject);
      this.#stream.cork();
      for (const part of parts) this.#stream.write(part);
      this.#stream.write(last, (error) => {
        this.#writes.delete(reject);
        if (error) reject(new MeshError('cancelled', 'the call is over', error));
        else resolve();
      });
      this.#stream.uncork();
    });
  }

  #respond(): void {
    if (this.#state !== 'opening') return;
    this.#state = 'responding';
    this.#stream.respond(this.response.takeHeaders(), { waitForTrailers: true });
  }

  #refuse(status: GrpcStatus): void {
    this.#stream.respond(this.response.takeTrailersOnly(status), { endStream: true });
    this.#stopRequest();
  }

  #endResponse(status: GrpcStatus): void {
    this.#stream.once('wantTrailers', () => {
      this.#stream.sendTrailers(this.response.trailers(status));
      this.#stopRequest();
    });
    this.#stream.end();
    if (this.#writes.size === 0) return;
    // The trailers queue behind data that the client may never take; then a reset is all that reaches it.
    const timer = setTimeout(() => this.#stream.close(constants.NGHTTP2_CANCEL), LAST_WORDS_MS);
    this.#stream.once('close', () => clearTimeout(timer));
  }

  /** Tells a client that is still sending to stop, once the whole response is under way (RFC 9113 section 8.1). */
  #stopRequest(): void {
    this.#stream.resume();
    // Not at once: a reset overtakes the trailers that Node has yet to write.
    setImmediate(() => {
      if (!this.#stream.readableEnded && !this.#stream.closed) this.#stream.close(constants.NGHTTP2_NO_ERROR);
    });
  }

  #over(reason: MeshError): void {
    this.#state = 'ended';
    for (const reject of this.#writes) reject(reason);
    this.#writes.clear();
    if (!this.#abort.signal.aborted) this.#abort.abort(reason);
  }
}
