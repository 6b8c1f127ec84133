import { expect } from 'chai';
import { generateKeyPair, type KeyPair } from '../../../src/io/x509/key.ts';
import { seconds } from '../../../src/lib/duration.ts';
import { acceptChain } from '../../../src/pilot-agent/certificate-request.ts';
import { TestRoot } from '../../harness/test-authority.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const ID = { trustDomain: 'cluster.local', namespace: 'foo', serviceAccount: 'web' };
const URI = { type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/web' } as const;

describe('answer of the certificate authority', () => {
  let root: TestRoot;
  let other: TestRoot;
  let pair: KeyPair;
  let good: string;

  before(async () => {
    root = await TestRoot.create(NOW);
    other = await TestRoot.create(NOW);
    pair = await generateKeyPair('ec-p256');
    good = await root.issue(pair.publicKey, [URI], seconds(600), NOW);
  });

  const refusal = (answer: readonly string[], now = NOW, identity: Parameters<typeof acceptChain>[3] = ID): string => {
    try {
      acceptChain(answer, pair, root.pem, identity, now);
      return 'accepted';
    } catch (thrown) {
      return String(thrown);
    }
  };

  it('is used without the root, which peers have', () => {
    const identity = acceptChain([good, root.pem], pair, root.pem, ID, NOW);
    expect(identity.chainPem).to.equal(good);
    expect(identity.notAfter).to.deep.equal(new Date('2026-01-01T00:10:00Z'));
    expect(identity.keyPem.reveal()).to.contain('PRIVATE KEY');
    expect(JSON.stringify(identity)).not.to.contain('PRIVATE KEY');
  });

  it('may name any trust domain when none is known', () => {
    expect(refusal([good], NOW, { ...ID, trustDomain: undefined })).to.equal('accepted');
    expect(refusal([good], NOW, { ...ID, trustDomain: 'example.com' })).to.contain('not spiffe://example.com/ns/foo/sa/web');
  });

  it('is refused for another key', async () => {
    const { publicKey } = await generateKeyPair('ec-p256');
    expect(refusal([await root.issue(publicKey, [URI], seconds(600), NOW)])).to.contain('the certificate is for another key');
  });

  it('is refused for another name', async () => {
    const names = [{ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/admin' }] as const;
    expect(refusal([await root.issue(pair.publicKey, names, seconds(600), NOW)])).to.contain(
      'the certificate names spiffe://cluster.local/ns/foo/sa/admin, not spiffe://cluster.local/ns/foo/sa/web',
    );
  });

  it('is refused without a name', async () => {
    const names = [{ type: 'dns', value: 'web' }] as const;
    expect(refusal([await root.issue(pair.publicKey, names, seconds(600), NOW)])).to.contain('names no identity');
  });

  it('is refused from another root, even if that comes with it', async () => {
    const foreign = await other.issue(pair.publicKey, [URI], seconds(600), NOW);
    expect(refusal([foreign])).to.contain('is not issued by any of the given roots');
    expect(refusal([foreign, other.pem])).to.contain('must not be used');
  });

  it('is refused out of its validity', () => {
    expect(refusal([good], new Date('2026-01-01T00:10:01Z'))).to.contain('expired at 2026-01-01T00:10:00.000Z');
    expect(refusal([good], new Date('2025-12-31T23:50:00Z'))).to.contain('is not valid before');
  });

  for (const [name, answer] of [
    ['nothing', []],
    ['garbage', ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n']],
  ] as const) {
    it(`is refused when it is ${name}`, () => {
      expect(refusal(answer)).to.contain('must not be used');
    });
  }
});
