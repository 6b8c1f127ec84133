import { expect } from 'chai';
import { memquota } from '../../../../src/rules/adapter/memquota.ts';
import { compiledInstance } from '../../../fakes/rule-instances.ts';

const SENT = [compiledInstance('quota', 'count', { dimensions: { user: 'source.user' } })];

function problems(spec: unknown): readonly string[] {
  const parsed = memquota.parse(spec, SENT);
  return parsed.ok ? [] : parsed.problems.map(({ path }) => path);
}

describe('the parameters of memquota', () => {
  it('are limits by instance, with a second to count over and to remember calls', () => {
    const quota = {
      name: 'count',
      maxAmount: 5,
      overrides: [{ dimensions: { user: 'vip' }, maxAmount: 9, validDuration: '1m' }],
    };
    const parsed = memquota.parse({ quotas: [quota] }, SENT);
    expect(parsed).to.deep.equal({
      ok: true,
      value: {
        limits: [
          {
            instance: 'count.quota.ns',
            maxAmount: 5,
            validDuration: 1_000,
            overrides: [{ dimensions: { user: 'vip' }, maxAmount: 9, validDuration: 60_000 }],
          },
        ],
        minDeduplicationDuration: 1_000,
      },
    });
  });

  it('name an instance briefly or in full', () => {
    for (const name of ['count', 'count.quota', 'count.quota.ns']) {
      expect(problems({ quotas: [{ name, maxAmount: 1 }] })).to.deep.equal([]);
    }
  });

  const limit = (changes: object): object => ({ quotas: [{ name: 'count', maxAmount: 1, ...changes }] });
  const override = (changes: object): object => limit({ overrides: [{ dimensions: { user: 'a' }, maxAmount: 1, ...changes }] });
  const WRONG: readonly (readonly [what: string, spec: unknown, path: string])[] = [
    ['an instance that no rule sends', limit({ name: 'cou' }), 'quotas[0].name'],
    ['no amount', { quotas: [{ name: 'count' }] }, 'quotas[0].maxAmount'],
    ['an amount below nothing', limit({ maxAmount: -1 }), 'quotas[0].maxAmount'],
    ['half an amount', limit({ maxAmount: 0.5 }), 'quotas[0].maxAmount'],
    ['an amount in words', limit({ maxAmount: 'five' }), 'quotas[0].maxAmount'],
    ['no time to count over', limit({ validDuration: '0s' }), 'quotas[0].validDuration'],
    ['a time that is none', limit({ validDuration: 'soon' }), 'quotas[0].validDuration'],
    ['an unknown field', limit({ maxAmmount: 1 }), 'quotas[0].maxAmmount'],
    ['a dimension that the instance has not', override({ dimensions: { path: '/' } }), 'quotas[0].overrides[0].dimensions.path'],
    ['an override without amount', limit({ overrides: [{ dimensions: {} }] }), 'quotas[0].overrides[0].maxAmount'],
    ['a time of -1s in an override', override({ validDuration: '-1s' }), 'quotas[0].overrides[0].validDuration'],
    ['no time to remember calls', { minDeduplicationDuration: '0s' }, 'minDeduplicationDuration'],
    ['an unknown parameter', { quota: [] }, 'quota'],
    ['a list where one thing belongs', { quotas: { name: 'count' } }, 'quotas'],
  ];
  for (const [what, spec, path] of WRONG) {
    it(`are refused with ${what}`, () => expect(problems(spec)).to.deep.equal([path]));
  }
});
