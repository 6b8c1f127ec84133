import { expect } from 'chai';
import fc from 'fast-check';
import { FrameReader, messageHeader } from '../../../../src/io/grpc/framing.ts';

function written(payload: Buffer): Buffer {
  return Buffer.concat([messageHeader(payload.length), payload]);
}

function readAll(chunks: readonly Buffer[], limit: number): Buffer[] {
  const reader = new FrameReader(limit);
  const found: Buffer[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) found.push(frame.payload);
  }
  reader.finish();
  return found;
}

describe('message framing', () => {
  it('gives back what was written, however the transport cut it', () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)));
    fc.assert(
      fc.property(messages, fc.integer({ min: 1, max: 17 }), (payloads, cut) => {
        const bytes = Buffer.concat(payloads.map(written));
        const chunks: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += cut) chunks.push(bytes.subarray(at, at + cut));
        expect(readAll(chunks, 100)).to.deep.equal(payloads);
      }),
    );
  });

  it('copies what waits for the rest of its message, so that small chunks cost no more than their bytes', () => {
    const reader = new FrameReader(100);
    const chunks = Array.from(written(Buffer.from('message')), (byte) => Buffer.of(byte));
    for (const chunk of chunks) {
      reader.push(chunk);
      chunk.fill(0);
    }
    // The first chunk is kept as it is until the second comes; it is part of the header here.
    expect(reader.next()?.payload.toString()).to.equal('message');
    expect(reader.buffered).to.equal(0);
  });

  it('gives a message that came in one chunk without copying it', () => {
    const reader = new FrameReader(100);
    const chunk = Buffer.concat([written(Buffer.from('one')), written(Buffer.from('two'))]);
    reader.push(chunk);
    expect([reader.next(), reader.next()].map((frame) => frame?.payload.buffer === chunk.buffer)).to.deep.equal([true, true]);
  });

  it('refuses a message over the limit by its header alone', () => {
    expect(() => readAll([messageHeader(101)], 100))
      .to.throw('over the limit')
      .with.property('code', 'resource_exhausted');
  });

  it('refuses a stream that ends within a message or a header', () => {
    expect(() => readAll([messageHeader(3)], 100)).to.throw('ended within a message');
    expect(() => readAll([Buffer.from([0])], 100)).to.throw('ended within a message');
  });

  it('refuses unknown flags', () => {
    expect(() => readAll([Buffer.from([2, 0, 0, 0, 0])], 100)).to.throw('unknown flags');
  });
});
