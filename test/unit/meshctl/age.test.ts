import { expect } from 'chai';
import { formatAge } from '../../../src/meshctl/age.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;
const ROWS: readonly (readonly [number, string])[] = [
  [-5, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [200, '3m20s'],
  [599, '9m59s'],
  [600, '10m'],
  [3 * HOUR - 1, '179m'],
  [3 * HOUR, '3h'],
  [3 * HOUR + 60, '3h1m'],
  [8 * HOUR, '8h'],
  [2 * DAY - 1, '47h'],
  [2 * DAY, '2d'],
  [2 * DAY + HOUR, '2d1h'],
  [8 * DAY + HOUR, '8d'],
  [729 * DAY, '729d'],
  [730 * DAY, '2y'],
  [731 * DAY, '2y1d'],
  [8 * 365 * DAY + DAY, '8y'],
];

describe('age', () => {
  for (const [seconds, text] of ROWS) {
    it(`is ${text} after ${seconds} s`, () => {
      const created = new Date('2026-01-02T03:04:05Z');
      expect(formatAge('2026-01-02T03:04:05Z', new Date(created.getTime() + seconds * 1_000))).to.equal(text);
    });
  }

  it('is unknown without a time', () => {
    expect(formatAge(undefined, new Date())).to.equal('<unknown>');
    expect(formatAge('yesterday', new Date())).to.equal('<unknown>');
  });
});
