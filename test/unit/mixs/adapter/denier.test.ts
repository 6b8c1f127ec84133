import { expect } from 'chai';
import { openDenier } from '../../../../src/mixs/adapter/denier.ts';

const call = { signal: new AbortController().signal };
const status = { code: 7, message: 'not today' };
const handler = openDenier({ ...status, validDuration: 5_000, validUseCount: 3 } as Parameters<typeof openDenier>[0]);

describe('the denier adapter', () => {
  it('refuses every check, for as long and as often as it is told', () => {
    const answer = { status, validMs: 5_000, validUses: 3 };
    expect(handler.check?.({ template: 'checknothing', values: { name: 'n' } }, call)).to.deep.equal(answer);
    expect(handler.check?.({ template: 'listentry', values: { name: 'n', value: 'v' } }, call)).to.deep.equal(answer);
  });

  it('grants nothing of a quota, not even to those who take less', () => {
    const asked = { amount: 1, bestEffort: true, deduplicationId: '' };
    const answer = { status, granted: 0, validMs: 5_000 };
    expect(handler.quota?.({ name: 'q', dimensions: {} }, asked, call)).to.deep.equal(answer);
  });
});
