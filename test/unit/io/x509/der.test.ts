import { AsnConvert, AsnIntegerConverter, OctetString } from '@peculiar/asn1-schema';
import { KeyUsage, Name, SubjectAlternativeName, Time } from '@peculiar/asn1-x509';
import { expect } from 'chai';
import fc from 'fast-check';
import { altNamesOf } from '../../../../src/io/x509/certificate-details.ts';
import { namedBits, objectIdentifier, octetString, time, unsignedInteger } from '../../../../src/io/x509/der.ts';
import { encodeAltNames, encodeSubject, type SubjectAltName } from '../../../../src/io/x509/names.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('DER, as the library reads what we write', () => {
  it('writes integers of any size', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 24 }), (magnitude) => {
        const value = BigInt(`0x${hex(magnitude)}`);
        const parsed = AsnIntegerConverter.fromASN(AsnConvert.parse(unsignedInteger(magnitude), IntegerBox).value as never);
        expect(BigInt(parsed)).to.equal(value);
      }),
    );
  });

  it('writes octet strings with every form of the length', () => {
    for (const length of [0, 1, 127, 128, 255, 256, 65_535, 65_536, 70_000]) {
      const bytes = new Uint8Array(length).fill(7);
      const parsed = AsnConvert.parse(octetString(bytes), OctetString);
      expect(new Uint8Array(parsed.buffer).length).to.equal(length);
    }
  });

  it('writes named bits without trailing zeros', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 8 }), { minLength: 1 }), (bits) => {
        const encoded = namedBits(bits);
        const flags = AsnConvert.parse(encoded, KeyUsage).toNumber();
        expect(bits.every((bit) => (flags & (1 << bit)) !== 0)).to.equal(true);
        expect(encoded.at(-1)).not.to.equal(0);
      }),
    );
    expect(hex(namedBits([]))).to.equal('030100');
  });

  it('writes object identifiers', () => {
    expect(hex(objectIdentifier('1.2.840.113549.1.1.11'))).to.equal('06092a864886f70d01010b');
    expect(hex(objectIdentifier('2.5.29.17'))).to.equal('0603551d11');
  });

  it('writes UTCTime until 2049 and GeneralizedTime from 2050', () => {
    const dates = ['2026-05-01T12:00:00Z', '2049-12-31T23:59:59Z', '2050-01-01T00:00:00Z', '2261-01-01T00:00:00Z'];
    for (const text of dates) {
      expect(
        AsnConvert.parse(time(new Date(text)), Time)
          .getTime()
          .toISOString(),
      ).to.equal(new Date(text).toISOString());
    }
    expect(time(new Date('2049-12-31T23:59:59Z'))[0]).to.equal(0x17);
    expect(time(new Date('2050-01-01T00:00:00Z'))[0]).to.equal(0x18);
  });
});

describe('names, as the library reads what we write', () => {
  const ascii = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 300,
  });
  const altName: fc.Arbitrary<SubjectAltName> = fc.oneof(
    ascii.map((value) => ({ type: 'uri', value }) as const),
    ascii.map((value) => ({ type: 'dns', value }) as const),
    fc.ipV4().map((value) => ({ type: 'ip', value }) as const),
  );

  it('writes any list of subject alternative names', () => {
    fc.assert(
      fc.property(fc.array(altName, { minLength: 1, maxLength: 20 }), (names) => {
        const parsed = altNamesOf(AsnConvert.parse(encodeAltNames(names), SubjectAlternativeName));
        expect(parsed).to.deep.equal({ known: names, hasOther: false });
      }),
    );
  });

  it('writes IPv6 addresses in 16 bytes', () => {
    expect(hex(encodeAltNames([{ type: 'ip', value: '::1' }]))).to.equal(`30128710${'00'.repeat(15)}01`);
  });

  for (const value of ['with space', 'ümlaut', 'zero\0byte', 'line\nbreak', '']) {
    it(`refuses the name ${JSON.stringify(value)}`, () => {
      expect(() => encodeAltNames([{ type: 'uri', value }])).to.throw('characters a certificate cannot hold');
    });
  }

  it('refuses what is no address', () => {
    expect(() => encodeAltNames([{ type: 'ip', value: 'localhost' }])).to.throw('"localhost" is not an IP address');
  });

  it('writes any organization', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (organization) => {
        const name = AsnConvert.parse(encodeSubject({ organization }), Name);
        expect(name[0]?.[0]?.value.toString()).to.equal(organization);
      }),
    );
  });
});

/** The library parses into classes only. */
class IntegerBox {
  value: unknown;
  fromASN(asn: unknown): this {
    this.value = asn;
    return this;
  }
  toASN(): never {
    throw new Error('read only');
  }
  toSchema(): never {
    throw new Error('read only');
  }
}
