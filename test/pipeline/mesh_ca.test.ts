import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { HealthCheckRequest, HealthCheckResponse } from '#gen/grpc/health/v1/health.ts';
import { type ClientTls, unaryCall } from '../../src/io/grpc/client.ts';
import { createCsr } from '../../src/io/x509/csr.ts';
import { generateKeyPair, type KeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import { seconds } from '../../src/lib/duration.ts';
import { MeshError } from '../../src/lib/errors.ts';
import {
  CaProcess,
  createCertificate,
  everything,
  handleCsr,
  manifest,
  newStoreDirectory,
  rootIn,
  tokenIssuers,
} from '../harness/ca-process.ts';
import { openssl } from '../harness/certificates.ts';
import { componentArguments } from '../harness/component-process.ts';
import { freePort } from '../harness/free-port.ts';
import { claims, jwksOf, rawToken, signToken, tokenKey } from '../harness/tokens.ts';

const FOO = 'spiffe://cluster.local/ns/foo/sa/httpbin';
const BAR = 'spiffe://cluster.local/ns/bar/sa/httpbin';
const key = tokenKey('k1');
const issuerDocument = (issuer: string, ...keys: readonly (typeof key)[]): string =>
  JSON.stringify({ issuer, jwks: jwksOf(...keys) });
const token = (changes: Readonly<Record<string, unknown>> = {}): string =>
  signToken(key, claims({ iss: 'lab', ...changes }, new Date()));
const BAR_SUBJECT = { sub: 'system:serviceaccount:bar:httpbin' };

async function failure(work: Promise<unknown>): Promise<MeshError> {
  return work.then(
    () => expect.fail('it went well'),
    (thrown: unknown) => MeshError.from(thrown),
  );
}

/** Tries until it goes well; the time limit of the test bounds it. */
async function eventually<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

describe('mesh_ca', () => {
  let dir: string;
  let ca: CaProcess;
  let pair: KeyPair;
  let csr: string;
  let tls: ClientTls;

  const start = (options: Readonly<Record<string, unknown>> = {}): Promise<CaProcess> =>
    CaProcess.start({ 'orch-config': dir, 'self-signed-ca': true, ...options });
  const requestFor = async (...uriSans: readonly string[]): Promise<string> => (await createCsr({ ...pair, uriSans })).pem;
  const ask = (changes: Partial<Parameters<typeof createCertificate>[0]> = {}) =>
    createCertificate({ port: ca.port, csr, tls, token: token(), ...changes });

  before(async () => {
    dir = newStoreDirectory();
    tokenIssuers(dir, { lab: issuerDocument('lab', key) });
    ca = await start();
    pair = await generateKeyPair('ec-p256');
    csr = await requestFor(FOO);
    tls = { rootPem: rootIn(dir), serverName: 'mesh-citadel.mesh-system.svc' };
  });
  after(async () => {
    await ca.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('names the flag that needs a cluster', async () => {
    const { code, message } = await failure(start({ 'append-dns-names': true }));
    expect(code).to.equal('usage');
    expect(message).to.contain('flag --append-dns-names needs a Kubernetes API server');
  });

  it('gives a service account a certificate for its name, that openssl leads to the published root', async () => {
    const [leaf = '', root = '', ...more] = await ask();
    expect(more).to.deep.equal([]);
    expect(root).to.equal(tls.rootPem);
    expect(openssl({ 'root.pem': root, 'leaf.pem': leaf }, 'verify', '-x509_strict', '-CAfile', 'root.pem', 'leaf.pem')).to.equal(
      'leaf.pem: OK\n',
    );
    const certificate = new X509Certificate(leaf);
    expect(certificate.subjectAltName).to.equal(`URI:${FOO}`);
    expect(certificate.publicKey.equals(pair.publicKey)).to.equal(true);
    expect(ca.log).to.contain(certificate.serialNumber).and.to.contain(FOO);
  });

  it('gives an account of another namespace its own name alone', async () => {
    const refused = await failure(ask({ token: token(BAR_SUBJECT) }));
    expect(refused.code).to.equal('permission_denied');
    expect(refused.message).to.contain(
      `${BAR} may not have a certificate for the uri name "${FOO}": ask for its own name or for none`,
    );
    const [leaf = ''] = await ask({ token: token(BAR_SUBJECT), csr: await requestFor() });
    expect(new X509Certificate(leaf).subjectAltName).to.equal(`URI:${BAR}`);
  });

  const REFUSED: readonly (readonly [string, () => Parameters<typeof ask>[0], string, string])[] = [
    ['an expired token', () => ({ token: token({ exp: 1 }) }), 'unauthenticated', 'it expired at'],
    ['a token for somebody else', () => ({ token: token({ aud: 'vault' }) }), 'unauthenticated', 'it is not meant for us'],
    [
      'a token without signature',
      () => ({ token: rawToken({ alg: 'none' }, claims({ iss: 'lab' }, new Date())) }),
      'unauthenticated',
      'algorithm "none"',
    ],
    [
      'a token that is not valid yet',
      () => ({ token: token({ nbf: Math.floor(Date.now() / 1000) + 3600 }) }),
      'unauthenticated',
      'it is not valid before',
    ],
    [
      'a token signed with a secret',
      () => ({ token: rawToken({ alg: 'HS256', kid: 'k1' }, claims({ iss: 'lab' }, new Date()), 'x') }),
      'unauthenticated',
      'algorithm "HS256"',
    ],
    ['a garbage token', () => ({ token: 'garbage' }), 'unauthenticated', 'not a JSON Web Token'],
    ['a malformed request', () => ({ csr: csr.replace(/[A-Z]{3}/, 'AAA').slice(0, 150) }), 'invalid', 'malformed'],
    ['an empty request', () => ({ csr: '' }), 'invalid', 'malformed'],
    ['a request that is a whole file', () => ({ csr: 'x'.repeat(1_000_000) }), 'resource_exhausted', ''],
    ['a negative lifetime', () => ({ ttlSeconds: -5 }), 'invalid', 'more than 0s'],
  ];
  for (const [what, changes, code, message] of REFUSED) {
    it(`refuses ${what}`, async () => {
      const error = await failure(ask(changes()));
      expect(error.code).to.equal(code);
      expect(error.message).to.contain(message);
    });
  }

  it('refuses a caller without a credential', async () => {
    const error = await failure(createCertificate({ port: ca.port, csr, tls }));
    expect(error.code).to.equal('unauthenticated');
    expect(error.message).to.contain('a credential is needed: a service account token in the metadata authorization');
  });

  it('renews for the current certificate, and for its name alone', async () => {
    const [leaf = ''] = await ask();
    const identity = { keyPem: privateKeyPem(pair.privateKey), chainPem: leaf };
    const renewal = { port: ca.port, tls: { ...tls, identity } };
    const [renewed = ''] = await createCertificate({ ...renewal, csr });
    expect(new X509Certificate(renewed).subjectAltName).to.equal(`URI:${FOO}`);
    const error = await failure(createCertificate({ ...renewal, csr: await requestFor(BAR) }));
    expect(error.code).to.equal('permission_denied');
  });

  it('grants the lifetime that is asked for, up to the maximum', async () => {
    const lifetime = async (ttlSeconds: number): Promise<number> => {
      const [leaf = ''] = await ask({ ttlSeconds });
      return Math.round((new X509Certificate(leaf).validToDate.getTime() - Date.now()) / 3_600_000);
    };
    expect([await lifetime(3600), await lifetime(0), await lifetime(2160 * 3600)]).to.deep.equal([1, 2160, 2160]);
    const error = await failure(lifetime(2160 * 3600 + 1));
    expect([error.code, error.message]).to.deep.equal([
      'invalid',
      `127.0.0.1:${ca.port}: a certificate for 2160h0m1s is more than the 2160h0m0s that are granted at most here`,
    ]);
  });

  it('answers node agents of the older service', async () => {
    const response = await handleCsr({ port: ca.port, csr, tls, token: token() });
    expect([response.isApproved, response.status?.code, response.certChain.length]).to.deep.equal([true, 0, 0]);
    expect(new X509Certificate(response.signedCert).subjectAltName).to.equal(`URI:${FOO}`);
  });

  it('tells that it is healthy', async () => {
    const health = await unaryCall({
      address: `127.0.0.1:${ca.port}`,
      path: '/grpc.health.v1.Health/Check',
      request: HealthCheckRequest.fromPartial({}),
      requestCodec: HealthCheckRequest,
      responseCodec: HealthCheckResponse,
      deadline: seconds(5),
      tls,
      signal: new AbortController().signal,
    });
    expect(health.status).to.equal(1);
  });

  it('publishes the root into every namespace', async () => {
    const published = (): number => everything(dir).split('mesh-ca-root-cert').length - 1;
    await eventually(async () => expect(published()).to.equal(2));
    expect(everything(dir)).to.contain('root-cert.pem');
  });

  it('keeps keys and tokens out of the log', async () => {
    const secret = token();
    await ask({ token: secret });
    await failure(ask({ token: `${secret}x` }));
    expect(ca.log).not.to.contain(secret.slice(-40));
    expect(ca.log).not.to.contain('PRIVATE KEY');
  });

  it('follows the trusted issuers while it runs', async () => {
    const second = tokenKey('k2');
    const other = signToken(second, claims({ iss: 'second' }, new Date()));
    const before = await failure(ask({ token: other }));
    expect(before.message).to.contain('its issuer "second" is not trusted here');
    tokenIssuers(dir, { lab: issuerDocument('lab', key), second: issuerDocument('second', second) });
    const chain = await eventually(() => ask({ token: other }));
    expect(chain).to.have.length(2);
  });
});

describe('mesh_ca, started and stopped', () => {
  let dir: string;
  const running: CaProcess[] = [];
  beforeEach(() => {
    dir = newStoreDirectory();
  });
  afterEach(async () => {
    for (const ca of running.splice(0)) await ca.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function start(options: Readonly<Record<string, unknown>> = {}): Promise<CaProcess> {
    const ca = await CaProcess.start({ 'orch-config': dir, 'self-signed-ca': true, ...options });
    running.push(ca);
    return ca;
  }

  it('keeps its root over a restart', async () => {
    expect(await (await start()).stop()).to.equal(0);
    const root = rootIn(dir);
    expect(await (await start()).stop()).to.equal(0);
    expect(rootIn(dir)).to.equal(root);
    expect(root).to.contain('BEGIN CERTIFICATE');
  });

  it('keeps its root when it is killed', async () => {
    const port = await freePort();
    const options = { 'orch-config': dir, 'self-signed-ca': true, 'grpc-port': port };
    const args = componentArguments('mesh_ca', 'run', 'caFlags', options);
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const chunk of child.stdout) if (String(chunk).includes('serving certificate requests')) break;
    const root = rootIn(dir);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await start();
    expect(rootIn(dir)).to.equal(root);
    expect(root).to.contain('BEGIN CERTIFICATE');
  });

  it('has one root with several replicas', async () => {
    const replicas = await Promise.all([start(), start()]);
    const tls = { rootPem: rootIn(dir), serverName: 'mesh-citadel' };
    const pem = (await createCsr({ ...(await generateKeyPair('ec-p256')) })).pem;
    for (const { port } of replicas) {
      const error = await failure(createCertificate({ port, csr: pem, tls }));
      expect(error.code).to.equal('unauthenticated');
    }
  });

  it('keeps the secret to itself', async () => {
    await start();
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((file) => join(dir, file));
    const secret = files.find((file) => statSync(file).isFile() && readFileSync(file, 'utf8').includes('ca-key.pem'));
    expect(statSync(secret ?? expect.fail('no secret')).mode & 0o777).to.equal(0o600);
  });

  it('hints at the missing issuers', async () => {
    const { port } = await start();
    const tls = { rootPem: rootIn(dir), serverName: 'mesh-citadel' };
    const pem = (await createCsr({ ...(await generateKeyPair('ec-p256')) })).pem;
    const error = await failure(createCertificate({ port, csr: pem, tls, token: token() }));
    expect(error.code).to.equal('unauthenticated');
    expect(error.message).to.contain('no token issuers are trusted here: the ConfigMap mesh-token-issuers names none');
  });

  it('takes the trust domain from the mesh configuration', async () => {
    const metadata = { name: 'mesh', namespace: 'mesh-system' };
    manifest(dir, 'mesh.yaml', { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { mesh: 'trustDomain: example.org\n' } });
    tokenIssuers(dir, { lab: issuerDocument('lab', key) });
    const { port } = await start();
    const pem = (await createCsr({ ...(await generateKeyPair('ec-p256')) })).pem;
    const [leaf = ''] = await createCertificate({
      port,
      csr: pem,
      token: token(),
      tls: { rootPem: rootIn(dir), serverName: 'mesh-citadel' },
    });
    expect(new X509Certificate(leaf).subjectAltName).to.equal('URI:spiffe://example.org/ns/foo/sa/httpbin');
  });

  it('names the flag that is missing outside a cluster', async () => {
    const error = await failure(start({ 'orch-config': '' }));
    expect(error.code).to.equal('usage');
    expect(error.message).to.contain('--orch-config is required outside a cluster: give');
  });

  it('names the address that is taken', async () => {
    const server = createServer();
    server.listen(0, '::');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const error = await failure(start({ 'grpc-port': port }));
    server.close();
    expect([error.code, error.message]).to.deep.equal([
      'already_exists',
      `cannot listen on :${port}: something listens there already: stop it or choose another address`,
    ]);
  });
});
