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
