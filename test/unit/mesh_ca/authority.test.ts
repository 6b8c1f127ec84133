import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { generateKeyPair, privateKeyPem } from '../../../src/io/x509/key.ts';
import { encodePem } from '../../../src/io/x509/pem.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { type Authority, intermediatePems, issue, issuingRootPem, rootPem } from '../../../src/mesh_ca/authority.ts';
import { expiryNotices } from '../../../src/mesh_ca/expiry.ts';
import { type AuthorityFiles, openPluggedIn } from '../../../src/mesh_ca/plugged-in.ts';
import { DAY, leafTemplate, makeIntermediate, makeRoot, NOW, openssl, type TestCa } from '../../harness/certificates.ts';

const pemOf = (...cas: readonly TestCa[]): string =>
  cas.map(({ certificate }) => encodePem('CERTIFICATE', certificate.raw)).join('');
const keyOf = (ca: TestCa): string => privateKeyPem(ca.pair.privateKey).reveal();

describe('a plugged-in certificate authority', () => {
  let root: TestCa;
  let middle: TestCa;
  let signing: TestCa;
  let stranger: TestCa;
  let expired: TestCa;
  let workload: TestCa;
  let dir: string;
  before(async () => {
    root = await makeRoot('rsa-2048');
    middle = await makeIntermediate(root, { subject: { commonName: 'middle' } });
    signing = await makeIntermediate(middle, { subject: { commonName: 'signing' } });
    stranger = await makeRoot();
    expired = await makeIntermediate(middle, { notAfter: new Date('2026-05-01T11:59:00Z') });
    workload = await makeIntermediate(middle, { use: { type: 'tls', server: true, client: true } });
    dir = mkdtempSync(join(tmpdir(), 'mesh-ca-'));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  type Contents = Readonly<Record<keyof AuthorityFiles, string>>;

  /** Files of an authority that is right in every respect, with changes. */
  function open(changes: Partial<Contents> = {}, now = NOW): Promise<Authority> {
    const contents: Contents = {
      signingCert: pemOf(signing),
      signingKey: keyOf(signing),
      certChain: pemOf(signing, middle, root),
      rootCert: pemOf(root),
      ...changes,
    };
    const files = Object.fromEntries(
      Object.entries(contents).map(([part, text]) => {
        const path = join(dir, `${part}.pem`);
        if (text !== '') writeFileSync(path, text);
        return [part, text === '' ? '' : path];
      }),
    );
    return openPluggedIn(files as unknown as AuthorityFiles, now);
  }

  it('issues certificates that openssl leads to the root', async () => {
    const authority = await open();
    const issued = await issue(authority, leafTemplate(await generateKeyPair('ec-p256')), NOW);
    const files = { 'root.pem': rootPem(authority), 'chain.pem': intermediatePems(authority).join(''), 'leaf.pem': issued.pem };
    const at = String(NOW.getTime() / 1000);
    const args = ['verify', '-x509_strict', '-attime', at, '-CAfile', 'root.pem', '-untrusted', 'chain.pem', 'leaf.pem'];
    expect(openssl(files, ...args)).to.equal('leaf.pem: OK\n');
    expect(authority.intermediates.map(({ subject }) => subject)).to.deep.equal(['CN=signing', 'CN=middle']);
    expect(issuingRootPem(authority)).to.equal(pemOf(root));
  });

  it('may be a root itself', async () => {
    const authority = await open({ signingCert: pemOf(root), signingKey: keyOf(root), certChain: '', rootCert: '' });
    expect([authority.intermediates.length, issuingRootPem(authority)]).to.deep.equal([0, pemOf(root)]);
  });

  it('may trust several roots', async () => {
    const authority = await open({ rootCert: pemOf(stranger, root) });
    expect([rootPem(authority), issuingRootPem(authority)]).to.deep.equal([pemOf(stranger, root), pemOf(root)]);
  });

  // Each row changes one file of a good set.
  const ROWS: readonly (readonly [string, () => Partial<Contents>, string | RegExp])[] = [
    [
      'the key of another certificate',
      () => ({ signingKey: keyOf(middle) }),
      /--signing-key .*signingKey\.pem: is not the key of the signing certificate/,
    ],
    ['no key', () => ({ signingKey: 'hello' }), /--signing-key .*: is not a private key in PEM without a passphrase/],
    ['no certificate', () => ({ signingCert: 'hello' }), /--signing-cert .*: there is no PEM block/],
    [
      'an expired certificate',
      () => ({ signingCert: pemOf(expired), signingKey: keyOf(expired) }),
      /--signing-cert .*expired at 2026-05-01T11:59:00.000Z/,
    ],
    [
      'a certificate that is no authority',
      () => ({ signingCert: pemOf(workload), signingKey: keyOf(workload) }),
      /--signing-cert .*is not a certificate authority/,
    ],
    [
      'a root of somebody else',
      () => ({ rootCert: pemOf(stranger) }),
      /--cert-chain .*O=test .*is self-signed and not one of the given roots/,
    ],
    ['a chain with a gap', () => ({ certChain: pemOf(signing) }), /--cert-chain .*is not issued by any of the given/],
    ['a root without the chain', () => ({ certChain: '' }), /--cert-chain.*is not issued by any of the given/],
    ['a damaged chain', () => ({ certChain: pemOf(middle).slice(0, 300) }), /--cert-chain .*damaged or not closed/],
  ];
  for (const [what, changes, message] of ROWS) {
    it(`is refused with ${what}`, async () => {
      const error = await open(changes()).then(
        () => expect.fail('opened'),
        (thrown: unknown) => MeshError.from(thrown),
      );
      expect([error.code, error.message.match(message) !== null ? '' : error.message]).to.deep.equal(['failed_precondition', '']);
      expect(error.message).not.to.contain('PRIVATE KEY');
    });
  }

  it('names the flag of a file that cannot be read', async () => {
    const files = { signingCert: join(dir, 'none.pem'), signingKey: join(dir, 'none.pem'), certChain: '', rootCert: '' };
    const error = await openPluggedIn(files, NOW).then(
      () => expect.fail('opened'),
      (thrown: unknown) => MeshError.from(thrown),
    );
    expect(error.message).to.contain('--signing-cert cannot be read: ENOENT');
  });

  it('issues nothing that outlives the shortest certificate above it, and nothing when that has ended', async () => {
    const short = await makeIntermediate(root, { notAfter: new Date('2026-05-01T18:00:00Z') });
    const below = await makeIntermediate(short);
    const authority = await open({ signingCert: pemOf(below), signingKey: keyOf(below), certChain: pemOf(short) });
    expect(authority.validity.notAfter.toISOString()).to.equal('2026-05-01T18:00:00.000Z');
    const template = leafTemplate(await generateKeyPair('ec-p256'));
    const error = await issue(authority, template, new Date('2026-05-01T18:00:00Z')).then(
      () => expect.fail('issued'),
      (thrown: unknown) => MeshError.from(thrown),
    );
    expect(error.code).to.equal('failed_precondition');
  });

  it('tells months ahead that a certificate expires', async () => {
    const authority = await open();
    const at = (days: number) => expiryNotices(authority, new Date(root.certificate.validToDate.getTime() - days * DAY * 1000));
    expect(at(91)).to.deep.equal([]);
    expect(at(60).map(({ level, daysLeft }) => [level, daysLeft])).to.deep.equal(Array(3).fill(['warn', 60]));
    expect(at(3).every(({ level }) => level === 'error')).to.equal(true);
  });
});
