import { expect } from 'chai';
import { checkChain, parseCertificateChain, spiffeIdOf } from '../../../../src/io/x509/chain.ts';
import { generateKeyPair, type KeyPair } from '../../../../src/io/x509/key.ts';
import type { SubjectAltName } from '../../../../src/io/x509/names.ts';
import { formatSpiffeId } from '../../../../src/lib/spiffe.ts';
import { leafTemplate, makeIntermediate, makeRoot, NOW, signLeaf, type TestCa } from '../../../harness/certificates.ts';

describe('certificate chains', () => {
  let root: TestCa;
  let intermediate: TestCa;
  let pair: KeyPair;
  before(async () => {
    root = await makeRoot();
    intermediate = await makeIntermediate(root);
    pair = await generateKeyPair('ec-p256');
  });

  const told = (chain: Parameters<typeof checkChain>[0], now = NOW): string =>
    checkChain(chain, now)
      .map(({ message }) => message)
      .join('; ');

  it('lead from a leaf over intermediates to a root', async () => {
    const leaf = await signLeaf(intermediate, leafTemplate(pair));
    expect(told({ leaf, intermediates: [intermediate.certificate], roots: [root.certificate] })).to.equal('');
    expect(told({ leaf: await signLeaf(root, leafTemplate(pair)), intermediates: [], roots: [root.certificate] })).to.equal('');
  });

  it('without the intermediate lead nowhere', async () => {
    const leaf = await signLeaf(intermediate, leafTemplate(pair));
    expect(told({ leaf, intermediates: [], roots: [root.certificate] })).to.contain('is not issued by any of the given');
  });

  it('of another root of the same name lead nowhere', async () => {
    const leaf = await signLeaf(await makeRoot(), leafTemplate(pair));
    expect(told({ leaf, intermediates: [], roots: [root.certificate] })).to.contain('is not issued by any of the given');
  });

  it('hold only while every certificate is valid', async () => {
    const short = await makeIntermediate(root, { notAfter: new Date('2026-05-01T13:00:00Z') });
    const chain = {
      leaf: await signLeaf(short, leafTemplate(pair)),
      intermediates: [short.certificate],
      roots: [root.certificate],
    };
    expect(told(chain, new Date('2026-05-01T14:00:00Z'))).to.match(/^CN=intermediate .* expired at 2026-05-01T13:00:00.000Z$/);
    expect(told(chain, new Date('2026-05-02T12:00:01Z'))).to.contain('a certificate without subject');
    expect(told(chain, new Date('2026-04-01T00:00:00Z'))).to.contain('is not valid before 2026-05-01T11:58:00.000Z');
  });

  it('refuse a workload that signs as if it were an authority', async () => {
    const workload = await makeIntermediate(root, { use: { type: 'tls', server: true, client: true } });
    const leaf = await signLeaf(workload, leafTemplate(pair));
    const message = told({ leaf, intermediates: [workload.certificate], roots: [root.certificate] });
    // OpenSSL already minds the key usage when it looks for the issuer.
    expect(message).to.match(/is not issued by any of the given|is not a certificate authority/);
  });

  it('keep to the path length of an authority', async () => {
    const chained = await makeRoot('ec-p256', { use: { type: 'ca', pathLength: 0 } });
    const below = await makeIntermediate(chained);
    const leaf = await signLeaf(below, leafTemplate(pair));
    const message = told({ leaf, intermediates: [below.certificate], roots: [chained.certificate] });
    expect(message).to.contain('allows only 0 certificate authorities below it');
  });

  it('are read from PEM, text around the blocks included', () => {
    const text = `# the root\n${root.certificate.toString()}\nsubject=...\n${intermediate.certificate.toString()}`;
    const parsed = parseCertificateChain(text);
    expect(parsed.ok && parsed.value.map(({ serialNumber }) => serialNumber)).to.deep.equal([
      root.certificate.serialNumber,
      intermediate.certificate.serialNumber,
    ]);
  });

  it('tell every block that is no certificate', () => {
    const text = `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n`;
    const parsed = parseCertificateChain(text);
    expect(parsed.ok ? [] : parsed.problems.map(({ path }) => path)).to.deep.equal(['[0]', '[1]']);
    expect(parseCertificateChain('nothing').ok).to.equal(false);
    expect(parseCertificateChain('-----BEGIN CERTIFICATE-----\nAAAA\n').ok).to.equal(false);
  });

  const uri = (value: string): SubjectAltName => ({ type: 'uri', value });
  const IDENTITIES: readonly (readonly [string, readonly SubjectAltName[], string])[] = [
    ['one identity', [uri('spiffe://cluster.local/ns/foo/sa/web')], 'spiffe://cluster.local/ns/foo/sa/web'],
    ['beside a DNS name', [{ type: 'dns', value: 'web' }, uri('spiffe://td/ns/a/sa/b.c')], 'spiffe://td/ns/a/sa/b.c'],
    ['two identities', [uri('spiffe://td/ns/a/sa/b'), uri('spiffe://td/ns/a/sa/c')], 'names 2 identities; one is expected'],
    ['no identity', [{ type: 'dns', value: 'web' }], 'names no identity'],
    ['another scheme', [uri('https://td/ns/a/sa/b')], 'is not an identity such as'],
    ['a further segment', [uri('spiffe://td/ns/a/sa/b/c')], 'is not an identity such as'],
    ['an escaped slash', [uri('spiffe://td/ns/a%2fb/sa/c')], 'is not an identity such as'],
    ['an upper-case trust domain', [uri('spiffe://TD/ns/a/sa/b')], 'is not an identity such as'],
  ];
  for (const [what, names, expected] of IDENTITIES) {
    it(`name a workload: ${what}`, async () => {
      const parsed = spiffeIdOf(await signLeaf(root, leafTemplate(pair, { names })));
      expect(parsed.ok ? formatSpiffeId(parsed.value) : parsed.problems[0]?.message).to.contain(expected);
    });
  }
});
