import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import * as library from '@peculiar/x509';
import { expect } from 'chai';
import { readDetails } from '../../../../src/io/x509/certificate-details.ts';
import { issuedProblems, issuerOf } from '../../../../src/io/x509/issued.ts';
import { generateKeyPair, type KeyPair } from '../../../../src/io/x509/key.ts';
import { type CertificateTemplate, validityFrom } from '../../../../src/io/x509/template.ts';
import { seconds } from '../../../../src/lib/duration.ts';
import {
  caTemplate,
  DAY,
  leafTemplate,
  makeRoot,
  NOW,
  openssl,
  signLeaf,
  type TestCa,
  testSerial,
} from '../../../harness/certificates.ts';

describe('certificates', () => {
  const cas = new Map<string, TestCa>();
  let pair: KeyPair;
  before(async () => {
    for (const type of ['ec-p256', 'rsa-2048'] as const) cas.set(type, await makeRoot(type));
    pair = await generateKeyPair('ec-p256');
  });

  for (const type of ['ec-p256', 'rsa-2048'] as const) {
    describe(`signed with ${type}`, () => {
      let ca: TestCa;
      before(() => {
        ca = cas.get(type) ?? expect.fail();
      });

      it('verify with openssl, as server and as client', async () => {
        const leaf = await signLeaf(ca, leafTemplate(pair));
        const files = { 'ca.pem': ca.certificate.toString(), 'leaf.pem': leaf.toString() };
        const at = String(NOW.getTime() / 1000);
        for (const purpose of ['sslserver', 'sslclient']) {
          const args = ['verify', '-x509_strict', '-attime', at, '-CAfile', 'ca.pem', '-purpose', purpose, 'leaf.pem'];
          expect(openssl(files, ...args)).to.equal('leaf.pem: OK\n');
        }
      });

      it('verify with the library', async () => {
        const leaf = new library.X509Certificate((await signLeaf(ca, leafTemplate(pair))).raw);
        const root = new library.X509Certificate(ca.certificate.raw);
        expect(await leaf.verify({ publicKey: root, date: NOW })).to.equal(true);
        expect(leaf.getExtension(library.AuthorityKeyIdentifierExtension)?.keyId).to.equal(
          root.getExtension(library.SubjectKeyIdentifierExtension)?.keyId,
        );
      });
    });
  }

  it('say what the template said, as the library reads it', async () => {
    const template = leafTemplate(pair);
    const leaf = new library.X509Certificate((await signLeaf(cas.get('ec-p256') ?? expect.fail(), template)).raw);
    expect(leaf.subject).to.equal('');
    expect(leaf.issuer).to.equal('O=test');
    expect(leaf.serialNumber).to.equal(Buffer.from(template.serial).toString('hex'));
    expect(leaf.notBefore.toISOString()).to.equal('2026-05-01T11:58:00.000Z');
    expect(leaf.notAfter.toISOString()).to.equal('2026-05-02T12:00:00.000Z');
    expect(leaf.getExtension(library.SubjectAlternativeNameExtension)?.names.toJSON()).to.deep.equal([
      { type: 'url', value: 'spiffe://cluster.local/ns/foo/sa/httpbin' },
    ]);
    expect(leaf.getExtension(library.SubjectAlternativeNameExtension)?.critical).to.equal(true);
    expect(leaf.getExtension(library.KeyUsagesExtension)).to.include({
      usages: library.KeyUsageFlags.digitalSignature,
      critical: true,
    });
    expect(leaf.getExtension(library.BasicConstraintsExtension)).to.include({ ca: false, critical: true });
    expect(leaf.getExtension(library.ExtendedKeyUsageExtension)?.usages).to.have.members([
      '1.3.6.1.5.5.7.3.1',
      '1.3.6.1.5.5.7.3.2',
    ]);
  });

  it('with a subject have names that are not critical, and RSA keys encipher', async () => {
    const rsa = await generateKeyPair('rsa-2048');
    const leaf = await signLeaf(
      cas.get('ec-p256') ?? expect.fail(),
      leafTemplate(rsa, { subject: { organization: 'Größe & Co' } }),
    );
    const details = readDetails(leaf);
    expect(leaf.subject).to.equal('O=Größe & Co');
    expect(details.ok && [details.value.altNamesCritical, [...(details.value.keyUsage ?? [])]]).to.deep.equal([false, [0, 2]]);
  });

  it('of authorities may sign certificates', async () => {
    const { certificate } = await makeRoot('ec-p256', { use: { type: 'ca', pathLength: 3 } });
    const details = readDetails(certificate);
    expect(details.ok && [details.value.isCa, details.value.pathLength, [...(details.value.keyUsage ?? [])]]).to.deep.equal([
      true,
      3,
      [5, 6],
    ]);
  });

  it('never outlive their issuer, nor begin before it', () => {
    const issuer = { notBefore: new Date('2026-05-01T11:59:00Z'), notAfter: new Date('2026-05-01T18:00:00.700Z') };
    expect(validityFrom(NOW, seconds(DAY), issuer)).to.deep.equal({
      notBefore: new Date('2026-05-01T11:59:00Z'),
      notAfter: new Date('2026-05-01T18:00:00Z'),
    });
  });

  describe('before they are handed out', () => {
    let other: KeyPair;
    let ca: TestCa;
    before(async () => {
      other = await generateKeyPair('ec-p256');
      ca = cas.get('ec-p256') ?? expect.fail();
    });

    // Each row changes one field of a certificate that is right, and names what is wrong then.
    const ROWS: readonly (readonly [string, () => Partial<CertificateTemplate>, readonly string[]])[] = [
      ['nothing', () => ({}), []],
      ['another name', () => ({ names: [{ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/other' }] }), ['names']],
      ['a further name', () => ({ names: [...leafTemplate(pair).names, { type: 'dns', value: 'a.b' }] }), ['names']],
      ['no name', () => ({ names: [] }), ['extensions', 'names']],
      ['the serial number', () => ({ serial: testSerial() }), ['serial']],
      ['the begin', () => ({ notBefore: new Date('2026-04-01T00:00:00Z') }), ['notBefore']],
      ['the end', () => ({ notAfter: new Date('2026-06-01T00:00:00Z') }), ['notAfter']],
      ['an authority', () => ({ use: { type: 'ca' } }), ['extensions', 'use', 'use', 'use']],
      ['the subject', () => ({ subject: { organization: 'other' } }), ['subject', 'extensions']],
      ['for servers only', () => ({ use: { type: 'tls', server: true, client: false } }), ['use']],
      ['another key', () => ({ publicKey: other.publicKey }), ['publicKey', 'publicKey']],
    ];
    for (const [what, changes, paths] of ROWS) {
      it(`are compared with the template: ${what} changed`, async () => {
        const template = leafTemplate(pair);
        const leaf = await signLeaf(ca, { ...template, ...changes() });
        expect(issuedProblems(leaf.raw, template, issuerOf(ca.certificate)).map(({ path }) => path)).to.deep.equal(paths);
      });
    }

    const CA_ROWS: readonly (readonly [string, CertificateTemplate['use'], readonly string[]])[] = [
      ['nothing', { type: 'ca', pathLength: 0, permittedUriHost: 'cluster.local' }, []],
      ['the path length', { type: 'ca', pathLength: 1, permittedUriHost: 'cluster.local' }, ['use']],
      ['no path length', { type: 'ca', permittedUriHost: 'cluster.local' }, ['use']],
      ['the permitted host', { type: 'ca', pathLength: 0, permittedUriHost: 'example.org' }, ['use']],
      ['no permitted host', { type: 'ca', pathLength: 0 }, ['extensions', 'use']],
    ];
    for (const [what, use, paths] of CA_ROWS) {
      it(`are compared with the template of an authority: ${what} changed`, async () => {
        const template = caTemplate(pair, { use: { type: 'ca', pathLength: 0, permittedUriHost: 'cluster.local' } });
        const certificate = await signLeaf(ca, { ...template, use });
        expect(issuedProblems(certificate.raw, template, issuerOf(ca.certificate)).map(({ path }) => path)).to.deep.equal(paths);
      });
    }

    it('are found when any byte of them is another', async () => {
      const template = leafTemplate(pair);
      const { raw } = await signLeaf(ca, template);
      const issuer = issuerOf(ca.certificate);
      for (let at = 0; at < raw.length; at += 1) {
        const changed = Uint8Array.from(raw);
        changed[at] = (changed[at] ?? 0) ^ 0x01;
        expect(issuedProblems(changed, template, issuer), `byte ${at}`).not.to.deep.equal([]);
      }
    });

    it('are compared with the issuer: its name, its key, its end', async () => {
      const template = leafTemplate(pair);
      const sameName = await makeRoot('ec-p256');
      const otherName = await makeRoot('ec-p256', { subject: { organization: 'other' } });
      const leaf = await signLeaf(ca, template);
      const paths = (issuer: X509Certificate) => issuedProblems(leaf.raw, template, issuerOf(issuer)).map(({ path }) => path);
      expect(paths(sameName.certificate)).to.deep.equal(['issuer', 'signature']);
      expect(paths(otherName.certificate)).to.deep.equal(['issuer', 'issuer', 'signature']);
      const shortLived = await makeRoot('ec-p256', validityFrom(NOW, seconds(60)));
      expect(paths(shortLived.certificate)).to.contain('notAfter');
    });

    it('that end before they begin are found', async () => {
      const backwards = leafTemplate(pair, { notAfter: new Date('2026-04-30T00:00:00Z') });
      const leaf = await signLeaf(ca, backwards);
      const problems = issuedProblems(leaf.raw, backwards, issuerOf(ca.certificate));
      expect(problems).to.deep.equal([{ path: 'notAfter', message: 'expires before it becomes valid' }]);
    });
  });

  it('survive serial numbers with leading zeros and high bits', async () => {
    const ca = cas.get('ec-p256') ?? expect.fail();
    for (const serial of [
      '00000000000000000000000000000001',
      'ffffffffffffffffffffffffffffffff',
      '0080aabbccddeeff00112233445566ff',
    ]) {
      const template = leafTemplate(pair, { serial: Buffer.from(serial, 'hex') });
      expect(issuedProblems((await signLeaf(ca, template)).raw, template, issuerOf(ca.certificate))).to.deep.equal([]);
    }
  });

  it('self-signed verify with their own key', async () => {
    const root = await makeRoot(
      'rsa-2048',
      caTemplate(pair, { publicKey: (cas.get('rsa-2048') ?? expect.fail()).pair.publicKey }),
    );
    expect(new X509Certificate(root.certificate.raw).checkIssued(root.certificate)).to.equal(true);
  });
});
