import { expect } from 'chai';
import fc from 'fast-check';
import { objectIdentifier, octetString, sequence, unsignedInteger } from '../../../../src/io/x509/der.ts';
import { DerError, DerReader, dottedIdentifier, READ_TAG } from '../../../../src/io/x509/der-read.ts';

const reader = (hex: string): DerReader => new DerReader(Buffer.from(hex, 'hex'));

describe('reading DER', () => {
  it('gives back what was written', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.uint8Array({ maxLength: 70_000 }), (digits, bytes) => {
        const whole = new DerReader(sequence(unsignedInteger(digits), octetString(bytes)));
        const inside = whole.enter(READ_TAG.sequence);
        whole.finish();
        const first = digits.findIndex((byte) => byte !== 0);
        expect([...inside.unsignedInteger()]).to.deep.equal(first === -1 ? [0] : [...digits.subarray(first)]);
        expect(Buffer.compare(inside.content(READ_TAG.octetString), bytes)).to.equal(0);
        inside.finish();
      }),
      { numRuns: 50 },
    );
  });

  for (const oid of ['1.2.840.113549.1.1.11', '2.5.29.17', '2.999.3', '0.9.2342']) {
    it(`prints ${oid}`, () => {
      const content = new DerReader(objectIdentifier(oid)).content(READ_TAG.objectIdentifier);
      expect(dottedIdentifier(content)).to.equal(oid);
    });
  }

  const REFUSED: readonly (readonly [string, string, (given: DerReader) => unknown])[] = [
    ['nothing', '', (given) => given.skip()],
    ['a tag without length', '04', (given) => given.skip()],
    ['content that is cut short', '040201', (given) => given.content(READ_TAG.octetString)],
    ['content beyond that of its parent', '3003040300', (given) => given.skip()],
    ['a length of one byte too many', '04810100', (given) => given.skip()],
    ['a length with a leading zero', `04820001${'00'.repeat(1)}`, (given) => given.skip()],
    ['an indefinite length', '30800000', (given) => given.skip()],
    ['a length of four bytes', '048400000001', (given) => given.skip()],
    ['a length that is cut short', '0482ff', (given) => given.skip()],
    ['a tag of two bytes', 'bf2100', (given) => given.skip()],
    ['another tag than expected', '0401ff', (given) => given.enter(READ_TAG.sequence)],
    ['bytes that are left', '0400', (given) => given.finish()],
    ['a negative number', '020180', (given) => given.unsignedInteger()],
    ['a number without digits', '0200', (given) => given.unsignedInteger()],
    ['a number with a needless zero', '02020001', (given) => given.unsignedInteger()],
    ['a number of 40 bits', '02050100000000', (given) => given.smallInteger()],
    ['a boolean of 1', '010101', (given) => given.boolean()],
    ['a boolean of two bytes', '0102ffff', (given) => given.boolean()],
    ['bits that end within a byte', '03020480', (given) => given.wholeBytes()],
    ['bits without the count', '0300', (given) => given.wholeBytes()],
    ['an identifier without numbers', '0600', (given) => given.skip()],
    ['an identifier that does not end', '06022a86', (given) => given.skip()],
    ['an identifier with a needless zero', '06032a8001', (given) => given.skip()],
    ['nesting without end', '3002'.repeat(40), (given) => given.skip()],
  ];
  for (const [what, hex, read] of REFUSED) {
    it(`refuses ${what}`, () => {
      expect(() => read(reader(hex))).to.throw(DerError);
    });
  }

  it('refuses elements that are nested deeper than any that are needed', () => {
    let nested = Buffer.from('0500', 'hex');
    for (let depth = 0; depth < 30; depth += 1) nested = Buffer.from(sequence(nested));
    expect(() => new DerReader(nested).skip()).to.throw(DerError, 'nested');
  });
});
