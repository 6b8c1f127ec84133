import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { MeshError } from '../../lib/errors.ts';
import { ACCEPTED_ENCODINGS } from './encoding.ts';
import { messageHeader } from './framing.ts';
import { encodeMessage } from './metadata.ts';
import { GrpcCode, type GrpcStatus } from './status.ts';

const RESPONSE_HEADERS: OutgoingHttpHeaders = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': ACCEPTED_ENCODINGS,
};

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
      if (opening) this.#stream.respond({ ...RESPONSE_HEADERS, ...trailersOf(status) }, { endStream: true });
      else this.#endResponse(status);
      this.#closeWhenSent();
    }
    this.#over(new MeshError('cancelled', 'the call is over'));
  }

  #respond(): void {
    if (this.#state !== 'opening') return;
    this.#state = 'responding';
    this.#stream.respond(RESPONSE_HEADERS, { waitForTrailers: true });
  }

  #endResponse(status: GrpcStatus): void {
    if (this.#writes.size > 0 && status.code !== GrpcCode.OK) {
      // Trailers would queue behind data that the client does not take: a reset is all that reaches it.
      this.#stream.close(constants.NGHTTP2_CANCEL);
      return;
    }
    this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(trailersOf(status)));
    this.#stream.end();
  }

  /** Tells a client that is still sending to stop (RFC 9113 section 8.1). */
  #closeWhenSent(): void {
    const close = () => {
      if (!this.#stream.readableEnded && !this.#stream.closed) this.#stream.close(constants.NGHTTP2_NO_ERROR);
      this.#stream.resume();
    };
    if (this.#stream.writableFinished) close();
    else this.#stream.once('finish', close);
  }

  #over(reason: MeshError): void {
    this.#state = 'ended';
    for (const reject of this.#writes) reject(reason);
    this.#writes.clear();
    if (!this.#abort.signal.aborted) this.#abort.abort(reason);
  }
}
