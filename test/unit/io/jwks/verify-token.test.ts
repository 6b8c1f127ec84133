import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { createTokenVerifier, type TrustedIssuer, type VerifiedToken } from '../../../../src/io/jwks/verify-token.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { Redacted } from '../../../../src/lib/redacted.ts';
import { NOW } from '../../../harness/certificates.ts';
import { claims, ISSUER, jwkOf, jwksOf, rawToken, signToken, tokenKey } from '../../../harness/tokens.ts';

const seconds = Math.floor(NOW.getTime() / 1000);

describe('token verification', () => {
  const key = tokenKey('k1');
  const rsa = tokenKey('k2', 'RS256');
  const stranger = tokenKey('k1');
  const trusted: TrustedIssuer = { issuer: ISSUER, audiences: ['mesh-ca', 'other'], jwks: jwksOf(key, rsa) };
  const verify = createTokenVerifier();

  async function outcome(token: string, issuers: readonly TrustedIssuer[] = [trusted]): Promise<VerifiedToken | MeshError> {
    return verify(new Redacted(token), issuers, NOW).catch((error) => MeshError.from(error));
  }

  async function reason(token: string, issuers?: readonly TrustedIssuer[]): Promise<string> {
    const result = await outcome(token, issuers);
    return result instanceof MeshError ? `${result.code}: ${result.message}` : `accepted ${result.subject}`;
  }

  for (const signer of [key, rsa]) {
    it(`accepts a good token (${signer.algorithm})`, async () => {
      expect(await outcome(signToken(signer))).to.include({ issuer: ISSUER, subject: 'system:serviceaccount:foo:httpbin' });
    });
  }

  it('accepts clocks that differ by a few seconds', async () => {
    expect(await reason(signToken(key, claims({ exp: seconds - 5 })))).to.contain('accepted');
    expect(await reason(signToken(key, claims({ nbf: seconds + 5 })))).to.contain('accepted');
  });

  it('finds the key of a token without a key identifier', async () => {
    const keys = [tokenKey('a'), tokenKey('b'), key].map((one) => ({ ...jwkOf(one), kid: undefined }));
    const issuer = { ...trusted, jwks: JSON.stringify({ keys }) };
    expect(await reason(signToken(key, claims(), { kid: undefined }), [issuer])).to.contain('accepted');
  });

  const hmacWithPublicKey = (): string => {
    const secret = key.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const unsigned = rawToken({ alg: 'HS256', kid: 'k1' }, claims()).replace(/\.$/, '');
    return `${unsigned}.${createHmac('sha256', secret).update(unsigned).digest('base64url')}`;
  };

  // Each row is a token with one thing wrong.
  const REFUSED: readonly (readonly [string, () => string, string])[] = [
    ['expired', () => signToken(key, claims({ exp: seconds - 60 })), 'it expired at 2026-05-01T11:59:00.000Z'],
    ['without expiry', () => signToken(key, claims({ exp: undefined })), 'it never expires'],
    ['not valid yet', () => signToken(key, claims({ nbf: seconds + 60 })), 'it is not valid before 2026-05-01T12:01:00.000Z'],
    ['for another audience', () => signToken(key, claims({ aud: ['vault'] })), 'it is not meant for us'],
    ['for no audience', () => signToken(key, claims({ aud: undefined })), 'it is not meant for us'],
    [
      'of an unknown issuer',
      () => signToken(key, claims({ iss: 'https://evil.test' })),
      'its issuer "https://evil.test" is not trusted here',
    ],
    ['of no issuer', () => signToken(key, claims({ iss: undefined })), 'it names no issuer'],
    ['without a subject', () => signToken(key, claims({ sub: undefined })), 'it names no subject'],
    ['signed by a stranger', () => signToken(stranger), 'its signature is not valid'],
    ['of an unknown key', () => signToken(tokenKey('k9')), `no key of issuer "${ISSUER}" fits it`],
    [
      'changed after signing',
      () => signToken(key).replace(/\.[^.]+\./, `.${rawToken({}, claims({ sub: 'x' })).split('.')[1]}.`),
      'signature is not valid',
    ],
    ['without signature (alg none)', () => rawToken({ alg: 'none' }, claims()), 'its algorithm "none" is not one of'],
    ['of alg NONE', () => rawToken({ alg: 'NONE' }, claims()), 'its algorithm "NONE" is not one of'],
    ['with an HMAC made from the public key', hmacWithPublicKey, 'its algorithm "HS256" is not one of'],
    [
      'of another algorithm than the key',
      () => rawToken({ alg: 'RS256', kid: 'k1' }, claims(), 'x'),
      `no key of issuer "${ISSUER}" fits it`,
    ],
    ['with critical extensions', () => signToken(key, claims(), { crit: ['b64'] }), 'it has critical extensions'],
    ['garbage', () => 'garbage', 'it is not a JSON Web Token'],
    ['three dots', () => '...', 'it is not a JSON Web Token'],
    ['empty', () => '', 'it is not a JSON Web Token'],
    ['too long', () => 'a'.repeat(20_000), 'it is longer than 16384 characters'],
  ];
  for (const [what, make, message] of REFUSED) {
    it(`refuses a token that is ${what}`, async () => {
      const told = await reason(make());
      expect(told).to.match(/^unauthenticated: the token is refused: /);
      expect(told).to.contain(message);
    });
  }

  it('asks to try again while the keys of the issuer are missing', async () => {
    expect(await reason(signToken(key), [{ ...trusted, jwks: undefined }])).to.match(/^unavailable: the keys of token issuer/);
  });

  it('takes the keys of the issuer as they are now', async () => {
    expect(await reason(signToken(stranger), [{ ...trusted, jwks: jwksOf(stranger) }])).to.contain('accepted');
    expect(await reason(signToken(key), [{ ...trusted, jwks: jwksOf(stranger) }])).to.contain('its signature is not valid');
  });

  it('never takes the key of another issuer', async () => {
    const other = { issuer: 'https://other.test', audiences: ['mesh-ca'], jwks: jwksOf(stranger) };
    expect(await reason(signToken(stranger), [trusted, other])).to.contain('its signature is not valid');
  });

  it('fails in order for any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 100 }), fc.string({ maxLength: 100 }), async (left, right) => {
        expect(
          await reason(`${Buffer.from(left).toString('base64url')}.${Buffer.from(right).toString('base64url')}.AA`),
        ).to.match(/^unauthenticated/);
      }),
    );
  });
});
