import { expect } from 'chai';
import fc from 'fast-check';
import { formatDuration, milliseconds, parseDuration } from '../../../src/lib/duration.ts';

const ACCEPTED: readonly (readonly [string, number, string])[] = [
  ['0', 0, '0s'],
  ['0s', 0, '0s'],
  ['1h2m3.5s', 3_723_500, '1h2m3.5s'],
  ['100ms', 100, '100ms'],
  ['2160h0m0s', 7_776_000_000, '2160h0m0s'],
  ['1m30s', 90_000, '1m30s'],
  ['90s', 90_000, '1m30s'],
  ['1.5s', 1_500, '1.5s'],
  ['.5s', 500, '500ms'],
  ['-5s', -5_000, '-5s'],
  ['+5s', 5_000, '5s'],
  ['250us', 0.25, '250µs'],
  ['10ns', 0.00001, '10ns'],
];

const REFUSED = ['', '5', 's', '1x', '1h 2m', '1.2.3s', '--5s', '-', '1s ', 'NaNs', '9999999999h', '5S'];

describe('duration', () => {
  for (const [text, value, printed] of ACCEPTED) {
    it(`reads ${text} and prints ${printed}`, () => {
      const parsed = parseDuration(text);
      expect(parsed).to.deep.equal({ ok: true, value });
      expect(formatDuration(milliseconds(value))).to.equal(printed);
    });
  }

  for (const text of REFUSED) {
    it(`refuses "${text}"`, () => {
      expect(parseDuration(text).ok).to.equal(false);
    });
  }

  it('reads back every duration that it prints, to the nanosecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: -8_000_000_000, max: 8_000_000_000 }), (value) => {
        expect(parseDuration(formatDuration(milliseconds(value)))).to.deep.equal({ ok: true, value });
      }),
    );
  });
});
