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
export async function onlyMessage(
  stream: ServerHttp2Stream,
  encoding: Encoding,
  maxMessageSize: number,
  budget: ByteBudget,
): Promise<Uint8Array> {
  return decodeFrame(await onlyFrame(stream, maxMessageSize, budget), encoding, maxMessageSize);
}

function onlyFrame(stream: ServerHttp2Stream, maxMessageSize: number, budget: ByteBudget): Promise<Frame> {
  const reader = new FrameReader(maxMessageSize);
  let found: Frame | undefined;
  let held = 0;
  const hold = (bytes: number): void => {
    budget.hold(bytes - held);
    held = bytes;
  };
  const read = (chunk: Buffer): void => {
    reader.push(chunk);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
      if (found !== undefined) throw oneMessage('another');
      found = frame;
    }
    hold(reader.buffered);
  };
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void): void => {
      stream.off('data', onData).off('end', onEnd).off('close', onClose);
      hold(0);
      outcome();
    };
    const attempt = (step: () => void): void => {
      try {
        step();
      } catch (thrown) {
        stream.pause();
        settle(() => reject(thrown));
      }
    };
    const onData = (chunk: Buffer): void => attempt(() => read(chunk));
    const onClose = (): void => settle(() => reject(new MeshError('cancelled', 'the call is over')));
    const onEnd = (): void => {
      // Node ends the readable side of a stream that was reset as if the client had half-closed it.
      if (stream.closed || stream.destroyed) return onClose();
      attempt(() => {
        reader.finish();
        const frame = found;
        if (frame === undefined) throw oneMessage('none');
        settle(() => resolve(frame));
      });
    };
    if (stream.closed || stream.destroyed) return onClose();
    stream.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

function oneMessage(got: string): MeshError {
  return new MeshError('unimplemented', `the method takes one request message, and got ${got}`);
}
