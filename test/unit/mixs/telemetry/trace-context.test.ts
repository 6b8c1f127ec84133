import { expect } from 'chai';
import { traceContextOf } from '../../../../src/mixs/telemetry/trace-context.ts';

const TRACE = '463ac35c9f6413ad48485a3953bb6124';
const SPAN = 'a2fb4a1d1a96d312';
const parent = { traceId: TRACE, spanId: SPAN };

describe('the trace of a caller', () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, object])[] = [
    ['none', {}, { sampling: 'undecided', parent: undefined }],
    ['traceparent, recorded', { traceparent: `00-${TRACE}-${SPAN}-01` }, { sampling: 'yes', parent }],
    ['traceparent, not recorded', { traceparent: `00-${TRACE}-${SPAN}-00` }, { sampling: 'no', parent }],
    ['traceparent of zeros', { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` }, { sampling: 'undecided', parent: undefined }],
    ['one header of b3', { b3: `${TRACE}-${SPAN}-1-00000000000000ff` }, { sampling: 'yes', parent }],
    ['one header of b3, undecided', { b3: `${TRACE}-${SPAN}` }, { sampling: 'undecided', parent }],
    ['one header of b3 that only refuses', { b3: '0' }, { sampling: 'no', parent: undefined }],
    ['headers of b3', { 'x-b3-traceid': TRACE, 'x-b3-spanid': SPAN, 'x-b3-sampled': '0' }, { sampling: 'no', parent }],
    ['b3 for debugging', { 'x-b3-traceid': TRACE, 'x-b3-spanid': SPAN, 'x-b3-flags': '1' }, { sampling: 'yes', parent }],
    [
      'a short trace id',
      { b3: `${TRACE.slice(16)}-${SPAN}-d` },
      { sampling: 'yes', parent: { traceId: `${'0'.repeat(16)}${TRACE.slice(16)}`, spanId: SPAN } },
    ],
    [
      'ids that are none',
      { 'x-b3-traceid': 'x', 'x-b3-spanid': SPAN, 'x-b3-sampled': '1' },
      { sampling: 'yes', parent: undefined },
    ],
  ];
  for (const [name, headers, expected] of cases) {
    it(`is read from ${name}`, () => expect(traceContextOf(new Map(Object.entries(headers)))).to.deep.equal(expected));
  }
});
