import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { createCsr } from '../../src/io/x509/csr.ts';
import { generateKeyPair, type KeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import { MeshError } from '../../src/lib/errors.ts';
import { AuthorityDirectory, keyPemOf, makeHierarchy, pemOf, type TestHierarchy } from '../harness/authority-files.ts';
import { CaProcess, createCertificate, handleCsr, newStoreDirectory, tokenIssuers } from '../harness/ca-process.ts';
import { openssl } from '../harness/certificates.ts';
import { claims, jwksOf, signToken, tokenKey } from '../harness/tokens.ts';

const key = tokenKey('k1');
const token = (): string => signToken(key, claims({ iss: 'lab' }, new Date()));

describe('mesh_ca with a plugged-in authority', () => {
  let dir: string;
  let files: AuthorityDirectory;
  let first: TestHierarchy;
  let second: TestHierarchy;
  let pair: KeyPair;
  let csr: string;
  const running: CaProcess[] = [];
  before(async () => {
    [first, second] = await Promise.all([makeHierarchy(), makeHierarchy()]);
    pair = await generateKeyPair('ec-p256');
    csr = (await createCsr({ ...pair })).pem;
  });
  beforeEach(() => {
    dir = newStoreDirectory();
    tokenIssuers(dir, { lab: JSON.stringify({ issuer: 'lab', jwks: jwksOf(key) }) });
    files = new AuthorityDirectory();
    files.writeAll(first);
  });
  afterEach(async () => {
    for (const ca of running.splice(0)) await ca.stop();
    rmSync(dir, { recursive: true, force: true });
    rmSync(files.dir, { recursive: true, force: true });
  });

  async function start(options: Readonly<Record<string, unknown>> = {}): Promise<CaProcess> {
    const ca = await CaProcess.start({ 'orch-config': dir, ...files.flags, ...options });
    running.push(ca);
    return ca;
  }
  const ask = (ca: CaProcess, { root }: TestHierarchy = first): Promise<readonly string[]> =>
    createCertificate({ port: ca.port, csr, token: token(), tls: { rootPem: pemOf(root), serverName: 'mesh-citadel' } });

  it('answers with the leaf, the intermediates and the root, which openssl follows', async () => {
    const ca = await start();
    const [leaf = '', ...above] = await ask(ca);
    expect(above.join('')).to.equal(pemOf(first.signing, first.middle, first.root));
    const parts = { 'leaf.pem': leaf, 'middle.pem': above.slice(0, -1).join(''), 'root.pem': above.at(-1) ?? '' };
    expect(openssl(parts, 'verify', '-x509_strict', '-CAfile', 'root.pem', '-untrusted', 'middle.pem', 'leaf.pem')).to.equal(
      'leaf.pem: OK\n',
    );
    const older = await handleCsr({
      port: ca.port,
      csr,
      token: token(),
      tls: { rootPem: pemOf(first.root), serverName: 'mesh-citadel' },
    });
    expect(older.certChain.toString()).to.equal(pemOf(first.signing, first.middle));
  });

  it('keeps the last good files through half of a swap, and takes the new ones once they fit', async () => {
    const ca = await start();
    files.write('key.pem', keyPemOf(second.signing));
    await ca.logged('is not the key of the signing certificate');
    expect((await ask(ca)).at(-1)).to.equal(pemOf(first.root));
    files.write('cert.pem', pemOf(second.signing));
    await ca.logged('is not issued by any of the given roots');
    expect((await ask(ca)).at(-1)).to.equal(pemOf(first.root));
    files.writeAll(second);
    await ca.logged('new certificate authority files in force');
    const chain = await ask(ca, second);
    expect(chain.slice(1).join('')).to.equal(pemOf(second.signing, second.middle, second.root));
    expect(ca.log).not.to.contain('PRIVATE KEY');
  });

  it('renews for clients of the authority before, while both roots are there', async () => {
    const ca = await start();
    const [leaf = '', ...above] = await ask(ca);
    files.writeAll(second);
    files.write('root.pem', pemOf(first.root, second.root));
    await ca.logged('new certificate authority files in force');
    const identity = { keyPem: privateKeyPem(pair.privateKey), chainPem: [leaf, ...above.slice(0, -1)].join('') };
    const tls = { rootPem: pemOf(second.root), serverName: 'mesh-citadel', identity };
    const renewed = await createCertificate({ port: ca.port, csr, tls });
    expect(new X509Certificate(renewed[0] ?? '').subjectAltName).to.equal('URI:spiffe://cluster.local/ns/foo/sa/httpbin');
    expect(renewed.at(-1)).to.equal(pemOf(second.root));
  });

  it('goes on when a file is gone', async () => {
    const ca = await start();
    rmSync(files.path('cert.pem'));
    await ca.logged('cannot be read: ENOENT');
    expect(await ask(ca)).to.have.length(4);
  });

  const REFUSED: readonly (readonly [string, () => void, RegExp])[] = [
    [
      'the key of another certificate',
      () => files.write('key.pem', keyPemOf(second.signing)),
      /--signing-key \S+key\.pem: is not the key of/,
    ],
    [
      'an encrypted key',
      () => {
        const args = ['pkcs8', '-topk8', '-in', files.path('key.pem'), '-passout', 'pass:secret'];
        files.write('key.pem', execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
      },
      /--signing-key \S+key\.pem: is encrypted: give a private key without a passphrase/,
    ],
    ['a binary key', () => files.write('key.pem', 'ab'), /--signing-key \S+key\.pem: is not a private key in PEM/],
    [
      'a root that is none',
      () => files.write('root.pem', pemOf(first.root, first.middle)),
      /--root-cert \S+root\.pem: CN=middle .* is not issued by itself/,
    ],
    [
      'no chain',
      () => files.write('chain.pem', pemOf(second.middle)),
      /--cert-chain \S+chain\.pem: CN=signing .* is not issued by any/,
    ],
    ['a missing file', () => rmSync(files.path('root.pem')), /--root-cert cannot be read: ENOENT/],
  ];
  for (const [what, change, message] of REFUSED) {
    it(`does not start with ${what}`, async () => {
      change();
      const error = await start().then(
        () => expect.fail('started'),
        (thrown: unknown) => MeshError.from(thrown),
      );
      expect(error.message).to.match(message);
      expect([error.code, error.message.includes('\n')]).to.deep.equal(['failed_precondition', false]);
    });
  }

  it('does not start for other authorities when its path length allows none', async () => {
    files.writeAll(await makeHierarchy({ use: { type: 'ca', pathLength: 0 } }));
    const error = await start({ 'sign-ca-certs': true }).then(
      () => expect.fail('started'),
      (thrown: unknown) => MeshError.from(thrown),
    );
    expect([error.code, error.message]).to.satisfy(
      ([code, message]: readonly string[]) =>
        code === 'usage' && message?.startsWith('flag --sign-ca-certs: the path length of CN=signing'),
    );
  });
});
