import { decode, ExtData, encode } from '@msgpack/msgpack';
import { expect } from 'chai';
import fc from 'fast-check';
import { packEntry, packForward, readAnswer } from '../../../../src/mixs/telemetry/forward-message.ts';
import { EventTime, type Packable, packMessage } from '../../../../src/mixs/telemetry/message-pack.ts';

/** What an independent library reads; integers of 64 bits as bigints, all others as numbers. */
const read = (bytes: Uint8Array): unknown => decode(bytes, { useBigInt64: true });

/** The same with all integers as bigints of one kind. */
function normal(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normal(item)]));
  return value;
}

describe('MessagePack as we write it', () => {
  it('is read by others as what it was', () => {
    const { packable } = fc.letrec<{ packable: Packable }>((tie) => ({
      packable: fc.oneof(
        { depthSize: 'small' },
        fc.constant(null),
        fc.boolean(),
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.double({ noNaN: true }),
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        fc.uint8Array({ maxLength: 300 }),
        fc.array(tie('packable'), { maxLength: 20 }),
        fc.dictionary(
          fc.string({ maxLength: 5 }).filter((key) => key !== '__proto__'),
          tie('packable'),
          { maxKeys: 20, noNullPrototype: true },
        ),
      ),
    }));
    fc.assert(
      fc.property(packable, (value) => {
        expect(normal(read(packMessage(value)))).to.deep.equal(normal(value));
      }),
    );
  });

  it('keeps every digit of an integer, at every bound of a form', () => {
    const bounds = [5n, 6n, 7n, 8n, 15n, 16n, 31n, 32n, 53n, 62n, 63n].flatMap((bits) => [
      2n ** bits - 1n,
      -(2n ** bits),
      -(2n ** bits) - 1n,
      2n ** bits,
    ]);
    for (const value of bounds.filter((bound) => BigInt.asIntN(64, bound) === bound))
      expect(BigInt(read(packMessage(value)) as bigint | number), String(value)).to.equal(value);
  });

  it('has room for lengths of any form', () => {
    const lengthOf = (value: Packable): number => Object.keys(read(packMessage(value)) as object).length;
    const mapOf = (length: number): Packable => Object.fromEntries(Array.from({ length }, (_, index) => [`k${index}`, null]));
    for (const length of [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536]) {
      expect(read(packMessage('x'.repeat(length))) === 'x'.repeat(length), `text of ${length}`).to.equal(true);
      expect((read(packMessage(new Uint8Array(length))) as Uint8Array).length).to.equal(length);
    }
    for (const length of [0, 15, 16, 65_536]) expect(lengthOf(Array.from({ length }, () => null))).to.equal(length);
    for (const length of [0, 15, 16, 1_000]) expect(lengthOf(mapOf(length))).to.equal(length);
  });

  it('writes a number as a float always, and a time as Fluentd has it', () => {
    expect([...packMessage(1)]).to.deep.equal([0xcb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
    expect(read(packMessage(new EventTime(1, 0xffff_ffff)))).to.deep.equal(
      new ExtData(0, Uint8Array.of(0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff)),
    );
  });
});

describe('messages of the forward protocol', () => {
  it('have times outside of what EventTime has room for as seconds', () => {
    const timeOf = (nanos: bigint): unknown => (read(packEntry(nanos, {})) as readonly unknown[])[0];
    expect(timeOf(1_500_000_001n)).to.deep.equal(new ExtData(0, Uint8Array.of(0, 0, 0, 1, 0x1d, 0xcd, 0x65, 1)));
    expect(timeOf(-1n)).to.equal(-1);
    expect(timeOf(2n ** 32n * 1_000_000_000n)).to.equal(2n ** 32n);
  });

  it('say how many entries they hold, and by what they are acknowledged', () => {
    const entries = [packEntry(0n, { a: 'b' }), packEntry(1n, {})];
    expect(read(packForward('tag', entries, 'id'))).to.deep.equal([
      'tag',
      new Uint8Array(Buffer.concat(entries)),
      { size: 2, chunk: 'id' },
    ]);
  });

  it('are acknowledged by a map with the chunk, which may come in pieces', () => {
    for (const chunk of ['', 'AAAAAAAAAAAAAAAAAAAAAA==', 'x'.repeat(200)]) {
      for (const answer of [{ ack: chunk }, { more: 'text', ack: chunk }]) {
        const bytes = Buffer.from(encode(answer));
        for (let length = 0; length < bytes.length; length++)
          expect(readAnswer(bytes.subarray(0, length)), `${length} of ${bytes.length}`).to.equal('incomplete');
        expect(readAnswer(bytes)).to.deep.equal({ ack: chunk });
        expect(readAnswer(Buffer.concat([bytes, Buffer.from([0])]))).to.equal('something else');
      }
    }
  });

  it('are not acknowledged by anything else, whatever it is', () => {
    for (const answer of [{}, { ack: 1 }, { nack: 'a' }, ['HELO', { nonce: 'a' }], null, 'ack'])
      expect(readAnswer(Buffer.from(encode(answer))), JSON.stringify(answer)).to.equal('something else');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const answer = readAnswer(Buffer.from(bytes));
        if (typeof answer !== 'object') return true;
        // Whoever reads it otherwise than we do is right.
        const decoded = decode(bytes) as { readonly ack: string };
        return decoded.ack === answer.ack;
      }),
    );
  });
});
