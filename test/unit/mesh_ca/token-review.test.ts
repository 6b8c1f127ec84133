import { expect } from 'chai';
import type { ApiCall } from '../../../src/io/kubernetes/client.ts';
import { milliseconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { Redacted } from '../../../src/lib/redacted.ts';
import { createTokenReviewer, type TokenReviewer } from '../../../src/mesh_ca/token-review.ts';
import { verifyOrReview } from '../../../src/mesh_ca/token-verification.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { NOW } from '../../harness/certificates.ts';
import { claims, ISSUER, signToken, tokenKey } from '../../harness/tokens.ts';

const key = tokenKey('k1');
const GOOD = {
  authenticated: true,
  audiences: ['mesh-ca'],
  user: {
    username: 'system:serviceaccount:foo:httpbin',
    extra: { 'authentication.kubernetes.io/pod-name': ['httpbin-0'] },
  },
};

describe('the review of tokens', () => {
  let status: unknown;
  let calls: ApiCall[];
  let uptime: number;
  let failing: MeshError | undefined;
  let held: Promise<void> | undefined;
  let logger: MemoryLogger;
  let review: TokenReviewer;
  beforeEach(() => {
    [status, calls, uptime, failing, held, logger] = [GOOD, [], 0, undefined, undefined, new MemoryLogger()];
    review = createTokenReviewer({
      client: {
        async request(call) {
          calls.push(call);
          await held;
          if (failing !== undefined) throw failing;
          return { kind: 'TokenReview', status };
        },
      },
      audience: 'mesh-ca',
      uptime: () => milliseconds(uptime),
      random: () => 1,
      logger,
      signal: new AbortController().signal,
    });
  });

  let serial = 0;
  const token = (changes: Readonly<Record<string, unknown>> = {}): Redacted =>
    new Redacted(signToken(key, claims({ jti: String(++serial), ...changes })));

  async function refusal(given: Redacted): Promise<string> {
    return review(given, NOW).then(
      () => expect.fail('it was accepted'),
      (thrown: unknown) => `${MeshError.from(thrown).code}: ${MeshError.from(thrown).message}`,
    );
  }

  it('asks the API server, for our audience, and tells account and pod', async () => {
    const given = token();
    expect(await review(given, NOW)).to.deep.equal({
      issuer: 'the API server',
      subject: 'system:serviceaccount:foo:httpbin',
      claims: { 'kubernetes.io': { pod: { name: 'httpbin-0' } } },
    });
    expect(calls[0]).to.deep.include({ method: 'POST', path: '/apis/authentication.k8s.io/v1/tokenreviews' });
    expect(calls[0]?.body)
      .to.have.property('spec')
      .that.deep.equals({ token: given.reveal(), audiences: ['mesh-ca'] });
    expect(calls[0]?.deadline).to.equal(5_000);
  });

  const REFUSED: readonly (readonly [string, unknown, string])[] = [
    ['a token that it does not know', { authenticated: false, error: 'invalid bearer token' }, 'invalid bearer token'],
    ['a token for somebody else', { ...GOOD, audiences: ['vault'] }, 'it is not meant for us: the audience mesh-ca is needed'],
    ['an API server that knows no audiences', { ...GOOD, audiences: undefined }, 'it is not meant for us'],
    ['a user without name', { ...GOOD, user: {} }, 'the API server does not know it'],
    ['a yes of another form', { ...GOOD, authenticated: 'true' }, 'the API server does not know it'],
    ['an answer without status', undefined, 'the API server does not know it'],
  ];
  for (const [what, answer, reason] of REFUSED) {
    it(`refuses ${what}`, async () => {
      status = answer;
      expect(await refusal(token()))
        .to.contain('unauthenticated: the token is refused: ')
        .and.to.contain(reason);
    });
  }

  it('asks for no text that is no token', async () => {
    for (const text of ['', 'abc', 'a.b', `${'a'.repeat(17_000)}.b.c`, 'a.b.c\n']) {
      expect(await refusal(new Redacted(text))).to.equal('unauthenticated: the token is refused: it is not a JSON Web Token');
    }
    expect(calls).to.have.length(0);
  });

  it('remembers an answer for a short while, never beyond the life of the token', async () => {
    const given = token();
    for (const at of [0, 29_999, 30_000]) {
      uptime = at;
      await review(given, NOW);
    }
    expect(calls).to.have.length(2);
    const short = token({ exp: NOW.getTime() / 1000 + 3 });
    for (const at of [40_000, 42_999, 43_000]) {
      uptime = at;
      await review(short, NOW);
    }
    expect(calls).to.have.length(4);
    status = { authenticated: false };
    const bad = token();
    for (const at of [50_000, 54_999, 55_000]) {
      uptime = at;
      await refusal(bad);
    }
    expect(calls).to.have.length(6);
  });

  it('asks once for a token that many show at the same time', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    const given = token();
    const answers = Promise.all([1, 2, 3].map(() => review(given, NOW)));
    resolve();
    expect([(await answers).length, calls.length]).to.deep.equal([3, 1]);
  });

  it('reviews few at once and remembers few thousand', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    const answers = Array.from({ length: 512 }, () => review(token(), NOW));
    expect(await refusal(token()))
      .to.contain('unavailable')
      .and.to.contain('too many tokens');
    resolve();
    await Promise.all(answers);
    const first = token();
    await review(first, NOW);
    for (let other = 0; other < 4_096; other += 1) await review(new Redacted(`a.${other}.c`), NOW);
    const before = calls.length;
    // Those say no time at which they end, and are not remembered at all.
    await review(first, NOW);
    expect(calls.length).to.equal(before);
    for (let other = 0; other < 4_096; other += 1) await review(fakeToken(other), NOW);
    const full = calls.length;
    await review(first, NOW);
    expect(calls.length).to.equal(full + 1);
  });

  it('refuses everybody while the API server cannot be asked, and asks again after growing waits', async () => {
    failing = new MeshError('permission_denied', 'user mesh-ca may not create tokenreviews');
    const given = token();
    expect(await refusal(given)).to.equal(
      'unavailable: the token cannot be checked now: the API server cannot be asked, try again',
    );
    expect(logger.text()).to.contain('may not create tokenreviews').and.not.to.contain(given.reveal());
    for (const at of [100, 200, 300, 599, 600]) {
      uptime = at;
      expect(await refusal(given)).to.contain('unavailable');
    }
    expect(calls, 'at 0, 200 and 600').to.have.length(3);
    failing = undefined;
    uptime = 60_000;
    expect((await review(given, NOW)).subject).to.equal('system:serviceaccount:foo:httpbin');
  });

  it('is not asked about tokens that name a trusted issuer, whatever that says', async () => {
    const verify = verifyOrReview(async () => Promise.reject(new MeshError('unauthenticated', 'no')), review);
    const issuers = [{ issuer: ISSUER, audiences: ['mesh-ca'], jwks: undefined }];
    const outcome = await verify(token(), issuers, NOW).catch((thrown: unknown) => MeshError.from(thrown).message);
    expect([outcome, calls.length]).to.deep.equal(['no', 0]);
    expect((await verify(token({ iss: 'kubernetes' }), issuers, NOW)).subject).to.contain('httpbin');
    expect((await verify(token(), [], NOW)).subject).to.contain('httpbin');
    expect(calls).to.have.length(2);
  });
});

/** One that lives for an hour; nobody looks at its signature here. */
function fakeToken(serial: number): Redacted {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return new Redacted(`${part({ alg: 'none' })}.${part({ exp: NOW.getTime() / 1000 + 3600, serial })}.c2ln`);
}
