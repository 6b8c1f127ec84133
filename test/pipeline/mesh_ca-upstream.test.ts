/** Two certificate authorities, one below the other, as two components on stores of their own. */
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkChain } from '../../src/io/x509/chain.ts';
import { createCsr } from '../../src/io/x509/csr.ts';
import { generateKeyPair, type KeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import { seconds } from '../../src/lib/duration.ts';
import { MeshError } from '../../src/lib/errors.ts';
import { CaProcess, createCertificate, manifest, newStoreDirectory, rootIn, tokenIssuers } from '../harness/ca-process.ts';
import { openssl } from '../harness/certificates.ts';
import { freePort } from '../harness/free-port.ts';
import { claims, jwksOf, signToken, tokenKey } from '../harness/tokens.ts';

const key = tokenKey('k1');
const tokenOf = (sub: string): string => signToken(key, claims({ iss: 'lab', sub }, new Date()));
const CA_ACCOUNT = 'system:serviceaccount:mesh-system:mesh-citadel-service-account';

describe('mesh_ca below another mesh_ca', () => {
  let upperDir: string;
  let lowerDir: string;
  let pair: KeyPair;
  let csr: string;
  let upper: CaProcess;
  const running: CaProcess[] = [];
  before(async () => {
    pair = await generateKeyPair('ec-p256');
    csr = (await createCsr({ ...pair })).pem;
  });
  beforeEach(async () => {
    [upperDir, lowerDir] = [newStoreDirectory(), newStoreDirectory()];
    for (const dir of [upperDir, lowerDir]) tokenIssuers(dir, { lab: JSON.stringify({ issuer: 'lab', jwks: jwksOf(key) }) });
    writeFileSync(join(lowerDir, 'token'), tokenOf(CA_ACCOUNT));
    upper = await startUpper({ 'sign-ca-certs': true });
    writeFileSync(join(lowerDir, 'root.pem'), rootIn(upperDir));
  });
  afterEach(async () => {
    for (const ca of running.splice(0)) await ca.stop();
    for (const dir of [upperDir, lowerDir]) rmSync(dir, { recursive: true, force: true });
  });

  async function startUpper(options: Readonly<Record<string, unknown>>): Promise<CaProcess> {
    const ca = await CaProcess.start({ 'orch-config': upperDir, 'self-signed-ca': true, ...options });
    running.push(ca);
    return ca;
  }
  async function startingLower(options: Readonly<Record<string, unknown>> = {}): Promise<CaProcess> {
    const ca = await CaProcess.starting({
      'orch-config': lowerDir,
      'upstream-ca-address': `127.0.0.1:${upper.port}`,
      'upstream-ca-token': join(lowerDir, 'token'),
      'root-cert': join(lowerDir, 'root.pem'),
      ...options,
    });
    running.push(ca);
    return ca;
  }
  async function startLower(options: Readonly<Record<string, unknown>> = {}): Promise<CaProcess> {
    const ca = await startingLower(options);
    await Promise.race([ca.logged('serving certificate requests'), ca.ended]);
    return ca;
  }
  const ask = (ca: CaProcess): Promise<readonly string[]> =>
    createCertificate({
      port: ca.port,
      csr,
      token: tokenOf('system:serviceaccount:foo:httpbin'),
      tls: { rootPem: rootIn(upperDir), serverName: 'mesh-citadel' },
    });

  it('answers with chains that node and openssl lead to the root of the upper one', async () => {
    const [leaf = '', intermediate = '', root = '', ...more] = await ask(await startLower());
    expect([more.length, root]).to.deep.equal([0, rootIn(upperDir)]);
    const parts = { 'leaf.pem': leaf, 'middle.pem': intermediate, 'root.pem': root };
    for (const purpose of ['sslserver', 'sslclient']) {
      const args = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', 'root.pem', '-untrusted', 'middle.pem', 'leaf.pem'];
      expect(openssl(parts, ...args)).to.equal('leaf.pem: OK\n');
    }
    const [first, second, third] = [leaf, intermediate, root].map((pem) => new X509Certificate(pem));
    if (first === undefined || second === undefined || third === undefined) expect.fail();
    expect(checkChain({ leaf: first, intermediates: [second], roots: [third] }, new Date())).to.deep.equal([]);
    expect(first.subjectAltName).to.equal('URI:spiffe://cluster.local/ns/foo/sa/httpbin');
    const text = openssl({ 'c.pem': intermediate }, 'x509', '-in', 'c.pem', '-noout', '-text');
    for (const part of ['CA:TRUE, pathlen:0', 'Certificate Sign, CRL Sign', 'URI:cluster.local', 'URI:spiffe://cluster.local']) {
      expect(text).to.contain(part);
    }
    expect(upper.log).to.contain('certificate authority').and.to.contain('sa/mesh-citadel-service-account');
  });

  it('can sign nothing outside of its trust domain that openssl would follow', async () => {
    const metadata = { name: 'mesh', namespace: 'mesh-system' };
    manifest(lowerDir, 'mesh.yaml', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { mesh: 'trustDomain: example.org\n' },
    });
    const lower = await startingLower();
    await lower.logged('allows no names of the trust domain example.org');
  });

  it('takes its kept certificate after a restart, the upper one being away', async () => {
    const lower = await startLower();
    const [, before] = await ask(lower);
    const secret = readdirSync(lowerDir, { recursive: true, encoding: 'utf8' })
      .map((file) => join(lowerDir, file))
      .find((file) => statSync(file).isFile() && readFileSync(file, 'utf8').includes('mesh-ca-intermediate-secret'));
    expect(statSync(secret ?? expect.fail('no secret')).mode & 0o777).to.equal(0o600);
    await lower.stop();
    await upper.stop();
    const [, after] = await ask(await startLower());
    expect(after).to.equal(before);
  });

  it('renews its certificate while it serves, without refusing anybody', async () => {
    const lower = await startLower({ 'requested-ca-cert-ttl': seconds(10) });
    const intermediates = new Set<string>();
    // All the while, until the third certificate.
    while (intermediates.size < 3) {
      const [leaf = '', intermediate = '', root = ''] = await ask(lower);
      intermediates.add(intermediate);
      const parts = { 'leaf.pem': leaf, 'middle.pem': intermediate, 'root.pem': root };
      // As of its last second: by now it may be over.
      const time = String(new X509Certificate(leaf).validToDate.getTime() / 1_000 - 1);
      const args = ['verify', '-attime', time, '-CAfile', 'root.pem', '-untrusted', 'middle.pem', 'leaf.pem'];
      expect(openssl(parts, ...args)).to.equal('leaf.pem: OK\n');
    }
    expect(lower.log).not.to.contain('"error"');
  }).timeout(120_000);

  it('shows a certificate in place of a token', async () => {
    const chain = await createCertificate({
      port: upper.port,
      csr,
      token: tokenOf(CA_ACCOUNT),
      tls: { rootPem: rootIn(upperDir), serverName: 'mesh-citadel' },
    });
    writeFileSync(join(lowerDir, 'own.pem'), chain[0] ?? '');
    writeFileSync(join(lowerDir, 'own-key.pem'), privateKeyPem(pair.privateKey).reveal());
    const lower = await startLower({
      'upstream-ca-token': '/nowhere',
      'upstream-ca-client-cert': join(lowerDir, 'own.pem'),
      'upstream-ca-client-key': join(lowerDir, 'own-key.pem'),
    });
    expect(await ask(lower)).to.have.length(3);
  });

  it('is told why when it may not become an authority, serves nobody, and stops when it is told to', async () => {
    await upper.stop();
    upper = await startUpper({});
    const lower = await startingLower();
    await lower.logged('may not become a certificate authority');
    const error = await ask(lower).then(
      () => expect.fail('served'),
      (thrown: unknown) => MeshError.from(thrown),
    );
    expect(error.code).to.equal('unavailable');
    expect(await lower.stop()).to.equal(0);
  });

  it('lets no other account become an authority, unless it is named', async () => {
    writeFileSync(join(lowerDir, 'token'), tokenOf('system:serviceaccount:foo:httpbin'));
    const lower = await startingLower();
    await lower.logged('spiffe://cluster.local/ns/foo/sa/httpbin may not become a certificate authority');
    await lower.stop();
    await upper.stop();
    upper = await startUpper({ 'sign-ca-certs': true, 'sign-ca-certs-for': ['foo/httpbin'] });
    expect(await ask(await startLower())).to.have.length(3);
  });

  it('waits for an upper one that starts later', async () => {
    await upper.stop();
    const port = await freePort();
    const lower = await startingLower({ 'upstream-ca-address': `127.0.0.1:${port}` });
    await lower.logged('no signing certificate from the upstream certificate authority');
    upper = await startUpper({ 'sign-ca-certs': true, 'grpc-port': port });
    await lower.logged('serving certificate requests');
    expect(await ask(lower)).to.have.length(3);
  });

  it('does not talk to an upper one of another root', async () => {
    const other = newStoreDirectory();
    const stranger = await CaProcess.start({ 'orch-config': other, 'self-signed-ca': true });
    writeFileSync(join(lowerDir, 'root.pem'), rootIn(other));
    const lower = await startingLower();
    await lower.logged('no signing certificate from the upstream certificate authority');
    expect(lower.log).to.match(/self-signed certificate|unable to (verify|get)/i);
    expect(lower.log).not.to.contain(readFileSync(join(lowerDir, 'token'), 'utf8').slice(-40));
    await stranger.stop();
    rmSync(other, { recursive: true, force: true });
  });
});
