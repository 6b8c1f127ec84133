import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { parseJwkSet } from '../../../../src/io/jwks/jwk-set.ts';
import { DEFAULT_FETCH_POLICY, nextFetchDelay } from '../../../../src/io/jwks/schedule.ts';
import { jwkOf, jwksOf, tokenKey } from '../../../harness/tokens.ts';

describe('key sets', () => {
  const key = tokenKey('k1');
  const rsa = tokenKey('k2', 'RS256');

  it('keep their public keys', () => {
    expect(parseJwkSet(jwksOf(key, rsa))).to.deep.equal({ ok: true, value: JSON.stringify({ keys: [key, rsa].map(ordered) }) });
  });

  it('lose private parts and whatever else they hold', () => {
    const leaked = { ...rsa.privateKey.export({ format: 'jwk' }), kid: 'k2', x5c: ['AAAA'], other: 1 };
    const parsed = parseJwkSet(JSON.stringify({ keys: [leaked] }));
    const kept = parsed.ok ? JSON.parse(parsed.value).keys[0] : {};
    expect(Object.keys(kept)).to.have.members(['kty', 'kid', 'n', 'e']);
  });

  it('drop what does not verify signatures, and keep the rest', () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    const others = [
      { kty: 'oct', k: 'AAAA' },
      { ...jwkOf(rsa), use: 'enc' },
      weak,
      { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' },
      { kty: 'new' },
      7,
      null,
    ];
    const parsed = parseJwkSet(JSON.stringify({ keys: [...others, jwkOf(key)] }));
    expect(parsed.ok ? JSON.parse(parsed.value).keys.map(({ kid }: { kid: string }) => kid) : []).to.deep.equal(['k1']);
  });

  const REFUSED: readonly (readonly [string, string, string])[] = [
    ['no JSON', '<html>', 'not JSON'],
    ['no list of keys', '{"keys":{}}', 'has a list "keys"'],
    ['no object', '[]', 'has a list "keys"'],
    ['no key', '{"keys":[]}', 'there is no public key for signatures'],
    ['a secret alone', '{"keys":[{"kty":"oct","k":"AAAA"}]}', 'there is no public key for signatures'],
    ['too many keys', JSON.stringify({ keys: Array.from({ length: 101 }, () => jwkOf(key)) }), '101 keys are too many'],
  ];
  for (const [what, text, message] of REFUSED) {
    it(`are refused: ${what}`, () => {
      const parsed = parseJwkSet(text);
      expect(parsed.ok ? 'accepted' : parsed.problems[0]?.message).to.contain(message);
    });
  }

  function ordered(one: typeof key): unknown {
    const { kty, kid, use, alg, n, e, crv, x, y } = jwkOf(one) as Record<string, unknown>;
    return { kty, kid, use, alg, n, e, crv, x, y };
  }
});

describe('the time of the next fetch', () => {
  const delay = (failures: number, hasKeys: boolean, random = 1): number =>
    nextFetchDelay({ failures, hasKeys }, DEFAULT_FETCH_POLICY, random);

  it('is about 20 minutes after a success', () => {
    expect([delay(0, true, 0), delay(0, true, 0.5), delay(0, true, 1)]).to.deep.equal([1_080_000, 1_200_000, 1_320_000]);
  });

  it('comes quickly after a first failure, then doubles', () => {
    expect([1, 2, 3, 4].map((failures) => delay(failures, false))).to.deep.equal([500, 1000, 2000, 4000]);
  });

  it('never waits long while there is no key at all, and longer with an older copy', () => {
    expect(delay(1000, false)).to.equal(15_000);
    expect(delay(1000, true)).to.equal(300_000);
  });

  it('is spread by half', () => {
    expect(delay(1, false, 0)).to.equal(250);
  });
});
