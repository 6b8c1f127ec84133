/** Reads the body of an answer. */
import type { IncomingMessage } from 'node:http';
import { MeshError } from '../../lib/errors.ts';

/** The JSON of an answer; `undefined` for one that is none, which error pages of proxies are. */
export async function readAnswer(response: IncomingMessage, what: string, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new MeshError('resource_exhausted', `cannot ${what}: the answer is longer than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    const { statusCode: status = 0 } = response;
    if (status >= 300) return undefined;
    throw new MeshError('unavailable', `cannot ${what}: the answer is not JSON; is this the address of an API server?`, error);
  }
}
