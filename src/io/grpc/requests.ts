import type { ServerHttp2Stream } from 'node:http2';
import { decodeFrame, type Encoding } from './encoding.ts';
import { FrameReader } from './framing.ts';
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
