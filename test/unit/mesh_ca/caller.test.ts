import type { X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import type { CallContext } from '../../../src/io/grpc/types.ts';
import { createTokenVerifier } from '../../../src/io/jwks/verify-token.ts';
import { generateKeyPair, privateKeyPem } from '../../../src/io/x509/key.ts';
import type { SubjectAltName } from '../../../src/io/x509/names.ts';
import { encodePem } from '../../../src/io/x509/pem.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { Redacted } from '../../../src/lib/redacted.ts';
import { formatSpiffeId } from '../../../src/lib/spiffe.ts';
import { type Authority, parseAuthority } from '../../../src/mesh_ca/authority.ts';
import { authenticate, type Trust } from '../../../src/mesh_ca/caller.ts';
import { verifyOrReview } from '../../../src/mesh_ca/token-verification.ts';
import { leafTemplate, makeIntermediate, makeRoot, NOW, signLeaf, type TestCa } from '../../harness/certificates.ts';
import { claims, ISSUER, jwksOf, signToken, tokenKey } from '../../harness/tokens.ts';

const key = tokenKey('k1');
const verify = verifyOrReview(createTokenVerifier(), undefined);

function authorityOf(ca: TestCa): Authority {
  const signingKey = new Redacted(privateKeyPem(ca.pair.privateKey).reveal());
  const parsed = parseAuthority(
    { signingCert: encodePem('CERTIFICATE', ca.certificate.raw), signingKey, certChain: '', rootCert: '' },
    NOW,
  );
  return parsed.ok ? parsed.value : expect.fail(JSON.stringify(parsed.problems));
}

describe('the caller of the certificate authority', () => {
  let ca: TestCa;
  let stranger: TestCa;
  let trust: Trust;
  before(async () => {
    [ca, stranger] = await Promise.all([makeRoot(), makeRoot()]);
    const issuers = [{ issuer: ISSUER, audiences: ['mesh-ca'], jwks: jwksOf(key) }];
    trust = { authority: authorityOf(ca), formerIntermediates: [], trustDomain: 'cluster.local', issuers };
  });

  async function told(
    credentials: { readonly authorization?: string; readonly certificate?: X509Certificate },
    now = NOW,
    changes: Partial<Trust> = {},
  ): Promise<string> {
    const { authorization, certificate } = credentials;
    const metadata = new Map(authorization === undefined ? [] : [['authorization', authorization]]);
    const context: CallContext = { metadata, peer: { address: '', certificate }, signal: new AbortController().signal };
    try {
      const caller = await authenticate(context, { ...trust, ...changes }, verify, now);
      return `${formatSpiffeId(caller.identity)} by ${caller.credential}`;
    } catch (thrown) {
      const { code, message } = MeshError.from(thrown);
      return `${code}: ${message}`;
    }
  }

  const bearer = (changes: Readonly<Record<string, unknown>> = {}): string => `Bearer ${signToken(key, claims(changes))}`;
  const kubernetes = (namespace: unknown, name: unknown) => ({
    'kubernetes.io': { namespace, serviceaccount: { name }, pod: { name: 'p' } },
  });

  const TOKENS: readonly (readonly [string, () => string, string])[] = [
    ['a token', () => bearer(), 'spiffe://cluster.local/ns/foo/sa/httpbin by token'],
    [
      'a token with another case of the scheme',
      () => bearer().replace('Bearer', 'bearer'),
      'spiffe://cluster.local/ns/foo/sa/httpbin by token',
    ],
    [
      "a token of another namespace's account",
      () => bearer({ sub: 'system:serviceaccount:bar:httpbin' }),
      'spiffe://cluster.local/ns/bar/sa/httpbin by token',
    ],
    ['a token of Kubernetes', () => bearer(kubernetes('foo', 'httpbin')), 'spiffe://cluster.local/ns/foo/sa/httpbin by token'],
    [
      'a claim of another namespace',
      () => bearer(kubernetes('bar', 'httpbin')),
      'its claim kubernetes.io speaks of another account',
    ],
    ['a claim of another account', () => bearer(kubernetes('foo', 'root')), 'its claim kubernetes.io speaks of another account'],
    ['a claim of another form', () => bearer({ 'kubernetes.io': 'foo' }), 'its claim kubernetes.io is not an object'],
    ['a user', () => bearer({ sub: 'alice' }), 'its subject "alice" is no service account'],
    ['a subject with more parts', () => bearer({ sub: 'system:serviceaccount:foo:httpbin:x' }), 'is no service account'],
    ['a subject with a path', () => bearer({ sub: 'system:serviceaccount:foo/sa/x:y' }), 'is no service account'],
    ['an empty account', () => bearer({ sub: 'system:serviceaccount:foo:' }), 'is no service account'],
    ['another scheme', () => 'Basic eDp5', 'unauthenticated: the metadata authorization is not of the form "Bearer <token>"'],
    ['two tokens', () => `${bearer()}, ${bearer()}`, 'is not of the form "Bearer <token>"'],
  ];
  for (const [what, make, expected] of TOKENS) {
    it(`from ${what}`, async () => {
      const result = await told({ authorization: make() });
      expect(result).to.contain(expected);
      expect(result).to.match(/^(spiffe:|unauthenticated:)/);
    });
  }

  it('has a pod where its token is bound to one, if that is a name', async () => {
    const podOf = async (claim: object): Promise<unknown> => {
      const metadata = new Map([['authorization', bearer({ 'kubernetes.io': claim })]]);
      const context = { metadata, peer: { address: '', certificate: undefined }, signal: new AbortController().signal };
      return (await authenticate(context, trust, verify, NOW)).pod;
    };
    expect(await podOf({ pod: { name: 'web-0' } })).to.equal('web-0');
    expect(await podOf({ pod: { name: 'web\n{"forged": true}' } })).to.equal(undefined);
    expect(await podOf({})).to.equal(undefined);
  });

  it('is unknown without a credential', async () => {
    expect(await told({})).to.contain('unauthenticated: a credential is needed');
  });

  it('is unknown while no issuer is trusted, with a hint', async () => {
    expect(await told({ authorization: bearer() }, NOW, { issuers: [] })).to.equal(
      'unauthenticated: no token issuers are trusted here: the ConfigMap mesh-token-issuers names none',
    );
  });

  const uri = (value: string): SubjectAltName => ({ type: 'uri', value });
  const own = 'spiffe://cluster.local/ns/foo/sa/httpbin';
  const CERTIFICATES: readonly (readonly [string, () => TestCa, readonly SubjectAltName[], Date, string])[] = [
    ['the current certificate', () => ca, [uri(own)], NOW, `${own} by certificate`],
    ['one of another root', () => stranger, [uri(own)], NOW, 'is not issued by any of the given'],
    ['one that expired meanwhile', () => ca, [uri(own)], new Date('2026-05-03T00:00:00Z'), 'expired at 2026-05-02T12:00:00.000Z'],
    [
      'one of another trust domain',
      () => ca,
      [uri('spiffe://td/ns/foo/sa/httpbin')],
      NOW,
      'is not of the trust domain cluster.local',
    ],
    ['one of a server', () => ca, [{ type: 'dns', value: 'mesh-citadel' }], NOW, 'the certificate names no identity'],
  ];
  for (const [what, issuer, names, now, expected] of CERTIFICATES) {
    it(`from a client certificate: ${what}`, async () => {
      const certificate = await signLeaf(issuer(), leafTemplate(await generateKeyPair('ec-p256'), { names }));
      expect(await told({ certificate }, now)).to.contain(expected);
    });
  }

  it('from a certificate of an authority that signed before, below a root that is still trusted', async () => {
    const former = await makeIntermediate(ca);
    const certificate = await signLeaf(former, leafTemplate(await generateKeyPair('ec-p256')));
    expect(await told({ certificate })).to.contain('is not issued by any of the given');
    expect(await told({ certificate }, NOW, { formerIntermediates: [former.certificate] })).to.contain(`${own} by certificate`);
  });

  it('is nobody that shows the certificate of an authority', async () => {
    const authority = await makeIntermediate(ca, { names: [uri(own)] });
    expect(await told({ certificate: authority.certificate })).to.contain('it is of a certificate authority');
  });

  it('is never taken from the certificate when the token beside it is bad', async () => {
    const certificate = await signLeaf(ca, leafTemplate(await generateKeyPair('ec-p256')));
    expect(await told({ certificate, authorization: 'Bearer garbage' })).to.contain('unauthenticated: the token is refused');
  });
});
