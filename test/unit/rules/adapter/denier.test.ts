import { expect } from 'chai';
import { denier } from '../../../../src/rules/adapter/denier.ts';

function problems(spec: unknown): readonly string[] {
  const parsed = denier.parse(spec, []);
  return parsed.ok ? [] : parsed.problems.map(({ path }) => path);
}

describe('the parameters of denier', () => {
  it('are a failed precondition, for five seconds and a thousand requests, unless they say otherwise', () => {
    const value = { code: 9, message: '', validDuration: 5_000, validUseCount: 1_000 };
    expect(denier.parse({}, [])).to.deep.equal({ ok: true, value });
    expect(denier.parse(undefined, [])).to.deep.equal({ ok: true, value });
  });

  it('may let clients remember nothing', () => {
    const parsed = denier.parse({ status: { code: 16, message: 'who?' }, validDuration: '0s', validUseCount: 0 }, []);
    expect(parsed).to.deep.equal({ ok: true, value: { code: 16, message: 'who?', validDuration: 0, validUseCount: 0 } });
  });

  const WRONG: readonly (readonly [what: string, spec: unknown, path: string])[] = [
    ['a code that grants', { status: { code: 0 } }, 'status.code'],
    ['a code that there is none of', { status: { code: 17 } }, 'status.code'],
    ['a code in words', { status: { code: 'PERMISSION_DENIED' } }, 'status.code'],
    ['a message that is no text', { status: { message: 5 } }, 'status.message'],
    ['details', { status: { details: [] } }, 'status.details'],
    ['a status that is a number', { status: 7 }, 'status'],
    ['a time that is none', { validDuration: 5 }, 'validDuration'],
    ['a time below nothing', { validDuration: '-5s' }, 'validDuration'],
    ['uses below nothing', { validUseCount: -1 }, 'validUseCount'],
    ['more uses than the answer can say', { validUseCount: 2 ** 31 }, 'validUseCount'],
    ['an unknown parameter', { code: 7 }, 'code'],
  ];
  for (const [what, spec, path] of WRONG) {
    it(`are refused with ${what}`, () => expect(problems(spec)).to.deep.equal([path]));
  }
});
