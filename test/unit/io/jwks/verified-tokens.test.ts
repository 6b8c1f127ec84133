import { expect } from 'chai';
import { rememberVerified } from '../../../../src/io/jwks/verified-tokens.ts';
import { createTokenVerifier, type TokenVerifier, type TrustedIssuer } from '../../../../src/io/jwks/verify-token.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { Redacted } from '../../../../src/lib/redacted.ts';
import { NOW } from '../../../harness/certificates.ts';
import { claims, ISSUER, jwksOf, signToken, tokenKey } from '../../../harness/tokens.ts';

const seconds = Math.floor(NOW.getTime() / 1000);

describe('tokens that were verified', () => {
  const key = tokenKey('k1');
  const other = tokenKey('k2');
  const trusted: TrustedIssuer = { issuer: ISSUER, audiences: ['mesh-ca'], jwks: jwksOf(key, other) };
  let asked: number;
  let verify: TokenVerifier;

  function counting(maxTokens?: number): TokenVerifier {
    const real = createTokenVerifier();
    return rememberVerified((...call) => {
      asked += 1;
      return real(...call);
    }, maxTokens);
  }

  beforeEach(() => {
    asked = 0;
    verify = counting();
  });

  async function outcome(token: string, issuers: readonly TrustedIssuer[] = [trusted], at = seconds): Promise<string> {
    try {
      return (await verify(new Redacted(token), issuers, new Date(at * 1000))).subject;
    } catch (thrown) {
      return MeshError.from(thrown).code;
    }
  }

  it('are not verified again, though what is trusted is made anew each time', async () => {
    const token = signToken(key);
    for (let call = 0; call < 3; call += 1) {
      expect(await outcome(token, [{ ...trusted, audiences: [...trusted.audiences] }])).to.equal(
        'system:serviceaccount:foo:httpbin',
      );
    }
    expect(asked).to.equal(1);
  });

  it('are told apart by every character', async () => {
    const token = signToken(key);
    await outcome(token);
    expect(await outcome(`${token.slice(0, -6)}AAAAAA`)).to.equal('unauthenticated');
    expect(await outcome(signToken(key, claims({ sub: 'system:serviceaccount:foo:other' })))).to.contain('other');
    expect(asked).to.equal(3);
  });

  it('expire when they say so, and are not good before they say so when the clock is set back', async () => {
    const token = signToken(key, claims({ exp: seconds + 60, nbf: seconds - 60 }));
    await outcome(token);
    expect(await outcome(token, [trusted], seconds + 89)).to.contain('httpbin');
    expect(await outcome(token, [trusted], seconds + 90)).to.equal('unauthenticated');
    await outcome(token);
    expect(await outcome(token, [trusted], seconds - 91)).to.equal('unauthenticated');
  });

  const CHANGES: readonly (readonly [string, readonly TrustedIssuer[], string])[] = [
    ['the issuer is trusted no more', [], 'unauthenticated'],
    ['its key has gone', [{ ...trusted, jwks: jwksOf(other) }], 'unauthenticated'],
    ['its keys are missing', [{ ...trusted, jwks: undefined }], 'unavailable'],
    ['they are meant for somebody else', [{ ...trusted, audiences: ['vault'] }], 'unauthenticated'],
    ['another issuer has taken the place', [{ ...trusted, issuer: 'https://other.test' }], 'unauthenticated'],
  ];
  for (const [what, issuers, code] of CHANGES) {
    it(`are forgotten when ${what}`, async () => {
      const token = signToken(key);
      await outcome(token);
      expect(await outcome(token, issuers)).to.equal(code);
      await outcome(token);
      expect(asked).to.equal(3);
    });
  }

  it('that are verified while trust is withdrawn are not kept', async () => {
    const gate = Promise.withResolvers<void>();
    const real = createTokenVerifier();
    verify = rememberVerified(async (...call) => {
      const found = await real(...call);
      await gate.promise;
      return found;
    });
    const token = signToken(key);
    const first = outcome(token);
    const second = outcome(token, []);
    gate.resolve();
    expect(await second).to.equal('unauthenticated');
    expect(await first).to.contain('httpbin');
    expect(await outcome(token, [])).to.equal('unauthenticated');
  });

  it('are so many and no more, the oldest goes', async () => {
    verify = counting(2);
    const tokens = ['a', 'b', 'c'].map((name) => signToken(key, claims({ sub: `system:serviceaccount:foo:${name}` })));
    for (const token of tokens) await outcome(token);
    await outcome(tokens[2] ?? '');
    await outcome(tokens[1] ?? '');
    expect(asked).to.equal(3);
    await outcome(tokens[0] ?? '');
    expect(asked).to.equal(4);
  });

  it('refusals are not remembered', async () => {
    const token = signToken(tokenKey('k1'));
    for (let call = 0; call < 2; call += 1) expect(await outcome(token)).to.equal('unauthenticated');
    expect(asked).to.equal(2);
  });
});
