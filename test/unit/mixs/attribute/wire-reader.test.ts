import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { expect } from 'chai';
import fc from 'fast-check';
import { WireReader } from '../../../../src/mixs/attribute/wire-reader.ts';

describe('a reader of the wire format', () => {
  it('reads what the library writes', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        fc.double(),
        fc.boolean(),
        fc.constantFrom('', 'text', 'größer', '☃ 𝄞', 'x'.repeat(300)),
        (long, small, double, bool, text) => {
          const writer = new BinaryWriter();
          writer.tag(1, WireType.Varint).int64(long).tag(2, WireType.Varint).sint32(small).tag(3, WireType.Varint).int32(small);
          writer.tag(4, WireType.Bit64).double(double).tag(5, WireType.Varint).bool(bool);
          writer.tag(6, WireType.LengthDelimited).fork().tag(500, WireType.LengthDelimited).string(text).join();
          const reader = new WireReader(writer.finish());
          const read = [reader.tag(), reader.int64(), reader.tag(), reader.sint32(), reader.tag(), reader.uint32() | 0];
          read.push(reader.tag(), reader.double(), reader.tag(), Number(reader.bool()), reader.tag());
          const outer = reader.enter();
          const inner = [reader.tag() >>> 3, reader.string(), reader.tag()];
          reader.leave(outer);
          expect([...read, ...inner, reader.tag()]).to.deep.equal([
            8,
            long,
            16,
            small,
            24,
            small,
            33,
            double,
            40,
            Number(bool),
            50,
            500,
            text,
            0,
            0,
          ]);
        },
      ),
    );
  });

  it('passes over the same fields as the library, and refuses what it refuses', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
        const ours = outcomeOf(() => tagsOf(bytes));
        const theirs = outcomeOf(() => tagsOfLibrary(bytes));
        // The library knows groups too, which no message of ours has, and takes a number of more than ten bytes.
        if (ours === 'refused') return;
        expect(ours).to.deep.equal(theirs);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses what is cut off', () => {
    const whole = new BinaryWriter().tag(1, WireType.LengthDelimited).string('text').tag(2, WireType.Bit64).double(1).finish();
    for (let length = 1; length < whole.length; length++) {
      if (length === 6) continue;
      expect(() => tagsOf(whole.subarray(0, length)), `${length} bytes`).to.throw(RangeError);
    }
    expect(tagsOf(whole)).to.have.length(2);
  });

  it('keeps a message in a message to its end', () => {
    const inner = new WireReader(Uint8Array.of(0x0a, 0x01, 0x08, 0x05));
    inner.tag();
    inner.enter();
    inner.tag();
    expect(() => inner.uint32()).to.throw(RangeError);
    const longer = new WireReader(Uint8Array.of(0x0a, 0x05, 0x08));
    longer.tag();
    expect(() => longer.enter()).to.throw(RangeError);
  });
});

function outcomeOf<T>(read: () => T): T | 'refused' {
  try {
    return read();
  } catch {
    return 'refused';
  }
}

function tagsOf(bytes: Uint8Array): readonly number[] {
  const reader = new WireReader(bytes);
  const tags: number[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    tags.push(tag);
    reader.skip(tag);
  }
  return tags;
}

function tagsOfLibrary(bytes: Uint8Array): readonly number[] {
  const reader = new BinaryReader(bytes);
  const tags: number[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    tags.push(((field << 3) | type) >>> 0);
    reader.skip(type, field);
  }
  return tags;
}
