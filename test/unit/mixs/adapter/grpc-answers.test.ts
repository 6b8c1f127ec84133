import { expect } from 'chai';
import type { HandleCheckResponse, HandleQuotaResponse } from '#gen/mesh/adapter/v1/adapter.ts';
import { seconds } from '../../../../src/lib/duration.ts';
import { checkResultOf, quotaResultOf } from '../../../../src/mixs/adapter/grpc-answers.ts';

describe('answers of gRPC adapters', () => {
  const check = (answer: Partial<HandleCheckResponse>) =>
    checkResultOf(
      { status: undefined, validDuration: undefined, ...answer },
      { validDuration: seconds(5), maxValidDuration: seconds(60) },
    );
  const quota = (answer: Partial<HandleQuotaResponse>, bestEffort = false) =>
    quotaResultOf(
      { status: undefined, grantedAmount: 0, validDuration: undefined, ...answer },
      { amount: 10, bestEffort, deduplicationId: '' },
    );

  it('admit when they say nothing, for as long as the handler says', () => {
    expect(check({})).to.deep.equal({
      status: { code: 0, message: '' },
      validMs: 5_000,
      validUses: Number.POSITIVE_INFINITY,
    });
  });

  it('tell zero from nothing', () => {
    expect(check({ validDuration: { seconds: 0, nanos: 0 }, validUseCount: 0 })).to.include({ validMs: 0, validUses: 0 });
    expect(check({ validDuration: { seconds: 1, nanos: 500_000_000 }, validUseCount: 3 })).to.include({
      validMs: 1_500,
      validUses: 3,
    });
  });

  it('are remembered no longer than the handler allows', () => {
    expect(check({ validDuration: { seconds: 3_600, nanos: 0 } })).to.include({ validMs: 60_000 });
  });

  it('refuse with codes that there are not', () => {
    for (const code of [-1, 17, 2 ** 31 - 1]) expect(check({ status: { code, message: 'x' } }).status.code).to.equal(2);
  });

  it('have messages that fit one line', () => {
    const { message } = check({ status: { code: 7, message: `a\r\nb${'x'.repeat(100_000)}` } }).status;
    expect(message)
      .to.match(/^a bx+…$/)
      .and.have.length(512);
  });

  for (const [what, answer] of Object.entries({
    'a duration below zero': { validDuration: { seconds: -1, nanos: 0 } },
    'nanoseconds below zero': { validDuration: { seconds: 0, nanos: -1 } },
    'a duration of more than 10,000 years': { validDuration: { seconds: 315_576_000_001, nanos: 0 } },
    'a second of too many nanoseconds': { validDuration: { seconds: 0, nanos: 1_000_000_000 } },
    'a use count below zero': { validUseCount: -1 },
  })) {
    it(`are none with ${what}`, () => expect(() => check(answer)).to.throw('the adapter gives an answer that is none'));
  }

  it('grant nothing, all, or a part where that will do', () => {
    expect(quota({ grantedAmount: 10 })).to.deep.equal({ status: { code: 0, message: '' }, granted: 10, validMs: 0 });
    expect(quota({ grantedAmount: 4, validDuration: { seconds: 2, nanos: 0 } }, true)).to.include({ granted: 4, validMs: 2_000 });
    expect(quota({})).to.deep.equal({ status: { code: 8, message: 'quota is exhausted' }, granted: 0, validMs: 0 });
    expect(quota({ status: { code: 14, message: 'later' }, grantedAmount: 10 })).to.deep.equal({
      status: { code: 14, message: 'later' },
      granted: 0,
      validMs: 0,
    });
  });

  it('grant neither less than nothing, nor more than was asked for, nor a part where only all will do', () => {
    for (const grantedAmount of [-1, 11, 4])
      expect(() => quota({ grantedAmount })).to.throw(`granted_amount ${grantedAmount} of 10`);
  });
});
