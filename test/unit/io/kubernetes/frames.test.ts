import { expect } from 'chai';
import fc from 'fast-check';
import { readFrames } from '../../../../src/io/kubernetes/frames.ts';
import { MeshError } from '../../../../src/lib/errors.ts';

async function* chunksOf(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

async function read(...chunks: readonly (string | Uint8Array)[]): Promise<readonly unknown[]> {
  const frames: unknown[] = [];
  for await (const frame of readFrames(chunksOf(...chunks), 100)) frames.push(frame);
  return frames;
}

async function problemOf(...chunks: readonly string[]): Promise<string> {
  try {
    await read(...chunks);
    return '';
  } catch (error) {
    return error instanceof MeshError ? `${error.code}: ${error.message}` : String(error);
  }
}

describe('frames of a watch', () => {
  it('are found wherever the stream is cut', async () => {
    const values = fc.array(fc.record({ text: fc.string({ unit: 'grapheme', maxLength: 8 }) }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(values, fc.array(fc.nat(200)), async (frames, cuts) => {
        const bytes = Buffer.from(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''));
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        expect(await read(...chunks)).to.deep.equal(frames);
      }),
      { numRuns: 200 },
    );
  });

  it('leave out a line that the end cuts off, and empty ones', async () => {
    expect(await read('{"a":1}\n\r\n{"b"', ':2}\n{"c":')).to.deep.equal([{ a: 1 }, { b: 2 }]);
  });

  it('are refused when they are no JSON', async () => {
    expect(await problemOf('{"a":1}\n<html>\n')).to.equal('invalid: the API server sent a watch event that is not JSON');
  });

  it('are refused when they have no end', async () => {
    expect(await problemOf('x'.repeat(60), 'x'.repeat(60))).to.equal(
      'invalid: the API server sent a watch event of more than 100 bytes',
    );
  });
});
