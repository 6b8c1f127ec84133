import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { MeshError } from '../../lib/errors.ts';
import { ACCEPTED_ENCODINGS } from './encoding.ts';
import { messageHeader } from './framing.ts';
import { encodeMessage } from './metadata.ts';
import type { GrpcStatus } from './status.ts';

const RESPONSE_HEADERS: OutgoingHttpHeaders = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': ACCEPTED_ENCODINGS,
};

/** How long a client may take to read what was written before its call ended. */
const LAST_WORDS_MS = 500;

function trailersOf(status: GrpcStatus): OutgoingHttpHeaders {
  const trailers: OutgoingHttpHeaders = { 'grpc-status': String(status.code) };
  if (status.message !== '') trailers['grpc-message'] = encodeMessage(status.message);
  return trailers;
}

/** The response side of one call: writes messages, and ends exactly once. */
export class Call {
  readonly #stream: ServerHttp2Stream;
  readonly #abort = new AbortController();
  readonly #writes = new Set<(error: MeshError) => void>();
  #state: 'opening' | 'responding' | 'ended' = 'opening';

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.once('close', () => this.#over(new MeshError('cancelled', 'the call is over')));
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** See ServerStream.write. The chunks go to the transport as they are: many calls may share them. */
  write(chunks: readonly Uint8Array[]): Promise<void> {
    if (this.#state === 'ended' || this.#stream.destroyed) return Promise.reject(new MeshError('cancelled', 'the call is over'));
    this.#respond();
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const parts = [messageHeader(length), ...chunks.filter((chunk) => chunk.length > 0)];
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

  #respond(): void {
    if (this.#state !== 'opening') return;
    this.#state = 'responding';
    this.#stream.respond(RESPONSE_HEADERS, { waitForTrailers: true });
  }

  #refuse(status: GrpcStatus): void {
    this.#stream.respond({ ...RESPONSE_HEADERS, ...trailersOf(status) }, { endStream: true });
    this.#stopRequest();
  }

  #endResponse(status: GrpcStatus): void {
    this.#stream.once('wantTrailers', () => {
      this.#stream.sendTrailers(trailersOf(status));
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
