/** Splits the body of a watch into its frames: one JSON value a line. */
import { MeshError } from '../../lib/errors.ts';

const NEWLINE = 0x0a;

/**
 * Yields each whole line, parsed. A line that the end of the stream cuts off is dropped: what it would have said comes again.
 * Throws `invalid` for a line that is no JSON or longer than `maxBytes`.
 */
export async function* readFrames(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<unknown, void, undefined> {
  let pending: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      pending.push(chunk.subarray(start, end));
      const line = Buffer.concat(pending).toString('utf8');
      pending = [];
      size = 0;
      start = end + 1;
      if (line.trim() !== '') yield parseLine(line);
    }
    const rest = chunk.subarray(start);
    size += rest.length;
    if (size > maxBytes) throw new MeshError('invalid', `the API server sent a watch event of more than ${maxBytes} bytes`);
    if (rest.length > 0) pending.push(rest);
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new MeshError('invalid', 'the API server sent a watch event that is not JSON', error);
  }
}
