/** What other people's clients rely on: bytes of messages, names of the server, who is asked for what. */
import { X509Certificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { createCsr } from '../../src/io/x509/csr.ts';
import { generateKeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import { MeshError } from '../../src/lib/errors.ts';
import { AuthorityDirectory, makeHierarchy, pemOf, type TestHierarchy } from '../harness/authority-files.ts';
import { CaProcess, createCertificate, everything, newStoreDirectory, tokenIssuers } from '../harness/ca-process.ts';
import { certificatesIn, createCertificateRequest } from '../harness/csr-load.ts';
import { claims, jwksOf, signToken, tokenKey } from '../harness/tokens.ts';

const key = tokenKey('k1', 'RS256');
const tokenOf = (namespace: string): string =>
  signToken(key, claims({ iss: 'lab', sub: `system:serviceaccount:${namespace}:web` }, new Date()));

describe('mesh_ca on the wire', () => {
  let dir: string;
  let files: AuthorityDirectory;
  let hierarchy: TestHierarchy;
  let ca: CaProcess;
  let csr: string;
  before(async () => {
    hierarchy = await makeHierarchy();
    csr = (await createCsr({ ...(await generateKeyPair('ec-p256')) })).pem;
    files = new AuthorityDirectory();
    files.writeAll(hierarchy);
    dir = newStoreDirectory();
    tokenIssuers(dir, { lab: JSON.stringify({ issuer: 'lab', jwks: jwksOf(key) }) });
    ca = await CaProcess.start({
      'orch-config': dir,
      ...files.flags,
      'grpc-hostname': 'ca.example.org',
      'grpc-host-identities': 'mesh-citadel,other.example.org,127.0.0.1',
      'listened-namespace': 'foo',
    });
  });
  after(async () => {
    await ca.stop();
    for (const folder of [dir, files.dir]) rmSync(folder, { recursive: true, force: true });
  });

  interface Answer {
    readonly code: number;
    readonly body: Buffer;
  }

  /** One call of grpc-js with bytes that no generated code made. */
  function raw(path: string, message: Buffer, metadata: Readonly<Record<string, string>>): Promise<Answer> {
    const client = new Client(`127.0.0.1:${ca.port}`, credentials.createSsl(Buffer.from(pemOf(hierarchy.root))));
    const entries = new Metadata();
    for (const [name, value] of Object.entries(metadata)) entries.set(name, value);
    const same = (bytes: Buffer): Buffer => bytes;
    return new Promise((resolve) => {
      client.makeUnaryRequest(path, same, same, message, entries, (error, body) => {
        client.close();
        resolve({ code: error?.code ?? status.OK, body: body ?? Buffer.alloc(0) });
      });
    });
  }
  const bearer = (namespace: string) => ({ authorization: `Bearer ${tokenOf(namespace)}` });

  it('answers CreateCertificate with a list of texts: leaf, intermediates, root', async () => {
    const path = '/istio.v1.auth.IstioCertificateService/CreateCertificate';
    const { code, body } = await raw(path, createCertificateRequest(csr), bearer('foo'));
    expect(code).to.equal(status.OK);
    const [leaf = '', ...above] = certificatesIn(body);
    expect(new X509Certificate(leaf).subjectAltName).to.equal('URI:spiffe://cluster.local/ns/foo/sa/web');
    expect(above).to.deep.equal([pemOf(hierarchy.signing), pemOf(hierarchy.middle), pemOf(hierarchy.root)]);
  });

  it('answers HandleCSR with an approval, a status, the leaf and the intermediates', async () => {
    const { code, body } = await raw('/istio.v1.auth.IstioCAService/HandleCSR', createCertificateRequest(csr), bearer('foo'));
    expect(code).to.equal(status.OK);
    // is_approved = 1: true; status = 2: {message = 2: "OK"}; signed_cert = 3.
    expect(body.subarray(0, 9).toString('hex')).to.equal(`0801${'1204'}${'12024f4b'}1a`);
    const texts = body.toString('latin1').split('-----BEGIN CERTIFICATE-----').slice(1);
    expect(texts).to.have.length(3);
    expect(body.toString('latin1')).to.contain(pemOf(hierarchy.signing, hierarchy.middle));
  });

  it('tells who is not known, who may not, and what is no request, by their status codes', async () => {
    const path = '/istio.v1.auth.IstioCertificateService/CreateCertificate';
    const message = createCertificateRequest(csr);
    const foreign = (
      await createCsr({ ...(await generateKeyPair('ec-p256')), uriSans: ['spiffe://cluster.local/ns/bar/sa/web'] })
    ).pem;
    const codes = await Promise.all([
      raw(path, message, {}),
      raw(path, message, { authorization: 'Bearer x' }),
      raw(path, createCertificateRequest(foreign), bearer('foo')),
      raw(path, createCertificateRequest('x'), bearer('foo')),
      raw(path, Buffer.from([0xff]), bearer('foo')),
      raw('/istio.v1.auth.IstioCertificateService/Other', message, bearer('foo')),
    ]);
    expect(codes.map(({ code }) => code)).to.deep.equal([
      status.UNAUTHENTICATED,
      status.UNAUTHENTICATED,
      status.PERMISSION_DENIED,
      status.INVALID_ARGUMENT,
      status.INVALID_ARGUMENT,
      status.UNIMPLEMENTED,
    ]);
  });

  const ask = (serverName: string) =>
    createCertificate({ port: ca.port, csr, token: tokenOf('foo'), tls: { rootPem: pemOf(hierarchy.root), serverName } });

  for (const name of [
    'ca.example.org',
    'mesh-citadel',
    'mesh-citadel.mesh-system',
    'mesh-citadel.mesh-system.svc',
    'other.example.org',
  ]) {
    it(`shows a certificate for ${name}`, async () => {
      expect(await ask(name)).to.have.length(4);
    });
  }

  it('shows no certificate for other names', async () => {
    const error = await ask('mesh-pilot').then(
      () => expect.fail('served'),
      (thrown: unknown) => MeshError.from(thrown),
    );
    expect([error.code, error.message]).to.satisfy(
      ([code, message]: readonly string[]) => code === 'unavailable' && message?.includes('mesh-pilot'),
    );
  });

  it('publishes its root into the namespace that it listens to, and no other', async () => {
    await ca.logged('root certificate published');
    const objects = everything(dir)
      .split(/^---$/m)
      .filter((text) => text.includes('mesh-ca-root-cert'));
    expect(objects).to.have.length(1);
    expect(objects[0]).to.match(/namespace['"]?: ['"]?foo/);
  });

  it('refuses a client certificate of another root before any call', async () => {
    const other = await makeHierarchy({ use: { type: 'tls', server: false, client: true } });
    const identity = {
      keyPem: privateKeyPem(other.signing.pair.privateKey),
      chainPem: pemOf(other.signing, other.middle),
    };
    const error = await createCertificate({
      port: ca.port,
      csr,
      token: tokenOf('foo'),
      tls: { rootPem: pemOf(hierarchy.root), serverName: 'mesh-citadel', identity },
    }).then(
      () => expect.fail('served'),
      (thrown: unknown) => MeshError.from(thrown),
    );
    expect(error.code).to.equal('unavailable');
  });
});
