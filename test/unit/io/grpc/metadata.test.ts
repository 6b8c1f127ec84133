import { expect } from 'chai';
import fc from 'fast-check';
import { encodeMessage, isGrpcContentType, metadataOf, parseTimeout } from '../../../../src/io/grpc/metadata.ts';

describe('gRPC metadata', () => {
  it('reads every unit of grpc-timeout', () => {
    const read = ['2H', '3M', '4S', '5m', '6000u', '7000000n'].map(parseTimeout);
    expect(read).to.deep.equal([7_200_000, 180_000, 4_000, 5, 6, 7]);
  });

  it('bounds a timeout to what a timer holds', () => {
    expect(parseTimeout('99999999H')).to.equal(2 ** 31 - 1);
  });

  for (const bad of ['', '5', 'S', '-1S', '123456789S', '1.5S', '5x', '5S ']) {
    it(`refuses the timeout "${bad}"`, () => {
      expect(() => parseTimeout(bad)).to.throw('grpc-timeout');
    });
  }

  it('percent-encodes messages so that decoding gives them back', () => {
    expect(encodeMessage('50% of\nzürich')).to.equal('50%25 of%0Az%C3%BCrich');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const encoded = encodeMessage(text);
        expect(encoded).to.match(/^[\x20-\x7e]*$/);
        expect(decodeURIComponent(encoded)).to.equal(text);
      }),
    );
  });

  it('tells gRPC content types from others', () => {
    const types = ['application/grpc', 'application/grpc+proto', 'application/grpc;charset=utf-8'];
    expect(types.map(isGrpcContentType)).to.deep.equal([true, true, true]);
    const others = [undefined, 'application/json', 'application/grpc-web', 'application/grpc+json', 'text/application/grpc'];
    expect(others.map(isGrpcContentType)).to.deep.equal([false, false, false, false, false]);
  });

  it('leaves pseudo headers out and joins repeated values', () => {
    const metadata = metadataOf({ ':path': '/x', authorization: 'Bearer t', 'set-cookie': ['a', 'b'] });
    expect([...metadata]).to.deep.equal([
      ['authorization', 'Bearer t'],
      ['set-cookie', 'a,b'],
    ]);
  });
});
