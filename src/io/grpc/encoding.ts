/** Message compression. */
import type { IncomingHttpHeaders } from 'node:http2';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { MeshError } from '../../lib/errors.ts';
import type { Frame } from './framing.ts';

export type Encoding = 'identity' | 'gzip';

export const ACCEPTED_ENCODINGS = 'identity,gzip';

/** Below this a compressed message is hardly smaller, if at all. */
const WORTH_COMPRESSING = 1024;

const unzip = promisify(gunzip);
const zip = promisify(gzip);

/** The encoding named by `grpc-encoding`; absent means identity. Throws `unimplemented` for one we do not speak. */
export function requireEncoding(name: string | undefined): Encoding {
  if (name === undefined || name === 'identity') return 'identity';
  if (name === 'gzip') return 'gzip';
  throw new MeshError('unimplemented', `message encoding "${name.slice(0, 40)}" is not supported: use identity or gzip`);
}

/** The message of a frame; `maxSize` bounds what a small frame may grow into. */
export async function decodeFrame(frame: Frame, encoding: Encoding, maxSize: number): Promise<Uint8Array> {
  if (!frame.compressed) return frame.payload;
  if (encoding === 'identity') throw new MeshError('internal', 'a message is marked as compressed, but grpc-encoding names none');
  try {
    return await unzip(frame.payload, { maxOutputLength: Math.max(maxSize, 1) });
  } catch (thrown) {
    if (thrown instanceof RangeError) {
      throw new MeshError('resource_exhausted', `a compressed request message is over the limit of ${maxSize} bytes`, thrown);
    }
    throw new MeshError('internal', 'a compressed request message is not valid gzip', thrown);
  }
}

/**
 * How responses are encoded: as the client encodes its requests, which is also what grpc-go's server does. So proxies, which do not
 * compress, get the shared frames as they are.
 */
export function responseEncoding(headers: IncomingHttpHeaders): Encoding {
  const accepted = String(headers['grpc-accept-encoding'] ?? '').split(/ *, */);
  return headers['grpc-encoding'] === 'gzip' && accepted.includes('gzip') ? 'gzip' : 'identity';
}

/** The message that the chunks make up, compressed; undefined when it is too short to gain by it. */
export async function compress(chunks: readonly Uint8Array[]): Promise<Buffer | undefined> {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return length < WORTH_COMPRESSING ? undefined : await zip(Buffer.concat(chunks, length));
}
