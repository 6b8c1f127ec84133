import type { ServerHttp2Stream } from 'node:http2';
import { decodeFrame, type Encoding } from './encoding.ts';
import { FrameReader } from './framing.ts';

/**
 * The request's messages in order. Reads from the transport only as fast as it is asked, so that a slow handler holds the client
 * back by flow control.
 */
export async function* requestMessages(
  stream: ServerHttp2Stream,
  encoding: Encoding,
  maxMessageSize: number,
): AsyncGenerator<Uint8Array> {
  const reader = new FrameReader(maxMessageSize);
  // An iteration that is left early must not destroy the stream: the status is still to be sent on it.
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    reader.push(chunk);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
      yield await decodeFrame(frame, encoding, maxMessageSize);
    }
  }
  reader.finish();
}
