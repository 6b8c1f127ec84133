/** Message compression of requests; responses are sent as they are. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { MeshError } from '../../lib/errors.ts';
import type { Frame } from './framing.ts';

export type Encoding = 'identity' | 'gzip';

export const ACCEPTED_ENCODINGS = 'identity,gzip';

const unzip = promisify(gunzip);

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
