import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { Peer } from '../harness/peer.ts';
import { eventually, Sidecar } from '../harness/sidecar.ts';
import { TestRoot } from '../harness/test-authority.ts';

const WORKLOAD = { type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/web' } as const;
const DISCOVERY = { type: 'uri', value: 'spiffe://cluster.local/ns/mesh-system/sa/mesh-pilot-service-account' } as const;

describe('certificates from files with a real proxy', function () {
  this.timeout(120_000);
  let sidecar: Sidecar;
  let folder: string;

  beforeEach(async () => {
    sidecar = await Sidecar.prepare();
    folder = join(sidecar.folder, 'certs');
    await mkdir(folder);
  });
  afterEach(() => sidecar.stop());

  const put = async (name: string, text: string): Promise<void> => {
    await writeFile(join(folder, `.${name}`), text);
    await rename(join(folder, `.${name}`), join(folder, name));
  };
  const putAll = async ({ keyPem, chainPem }: { readonly keyPem: string; readonly chainPem: string }): Promise<void> => {
    await put('root-cert.pem', sidecar.root.pem);
    await put('cert-chain.pem', chainPem);
    await put('key.pem', keyPem);
  };
  const said = (text: string): Promise<unknown> =>
    eventually(`it says: ${text}`, () => sidecar.output.includes(text) || undefined);
  const serial = async (): Promise<string> => {
    const peer = await Peer.create(sidecar, false);
    try {
      const answer = await peer.get('/');
      expect(answer.body).to.equal('ok');
      return answer.serial;
    } finally {
      peer.close();
    }
  };

  it('are served, and nobody else is asked', async () => {
    await putAll(await sidecar.root.identity(WORKLOAD));
    sidecar.start({ certificatesPath: folder });
    await sidecar.ready();
    await serial();
    expect(sidecar.authority.tokens).to.deep.equal([]);
    expect(sidecar.output).not.to.contain('PRIVATE KEY');
  });

  it('may come later, and one by one', async () => {
    const { keyPem, chainPem } = await sidecar.root.identity(WORKLOAD);
    sidecar.start({ certificatesPath: folder });
    await said('cert-chain.pem (--certificatesPath) does not exist');
    await put('cert-chain.pem', chainPem);
    await said('key.pem (--certificatesPath) does not exist');
    await put('key.pem', keyPem);
    await put('root-cert.pem', sidecar.root.pem);
    await sidecar.ready();
  });

  it('are kept while they are swapped half-way, and taken together, without a restart', async () => {
    await putAll(await sidecar.root.identity(WORKLOAD));
    sidecar.start({ certificatesPath: folder });
    await sidecar.ready();
    const kept = await Peer.create(sidecar, true);
    const first = await kept.get('/');
    const next = await sidecar.root.identity(WORKLOAD);
    await put('cert-chain.pem', next.chainPem);
    await said('the certificate is for another key');
    expect(await serial()).to.equal(first.serial);
    await put('key.pem', next.keyPem);
    await eventually('the new pair is served', async () => (await serial()) !== first.serial || undefined);
    expect((await kept.get('/')).localPort).to.equal(first.localPort);
    kept.close();
    expect(sidecar.proxyPids()).to.have.length(1);
  });

  it('are refused when they name somebody else, lead nowhere, or hold no key; the last good ones stay', async () => {
    await putAll(await sidecar.root.identity(WORKLOAD));
    sidecar.start({ certificatesPath: folder });
    await sidecar.ready();
    const first = await serial();
    await putAll(await sidecar.root.identity({ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/admin' }));
    await said('the certificate names spiffe://cluster.local/ns/foo/sa/admin, not spiffe://cluster.local/ns/foo/sa/web');
    await putAll(await (await TestRoot.create()).identity(WORKLOAD));
    await said('is not issued by any of the given roots');
    await put('key.pem', 'nonsense');
    await said('key.pem holds no unencrypted private key in PEM form');
    await rm(join(folder, 'key.pem'));
    await said('key.pem (--certificatesPath) does not exist');
    expect(await serial()).to.equal(first);
    expect(await sidecar.readiness()).to.equal(200);
  });

  it('secure the link to discovery, whose identity is checked', async () => {
    await sidecar.discovery.close();
    const listen = async (root: TestRoot, name: typeof WORKLOAD | typeof DISCOVERY, port = 0): Promise<void> => {
      const identity = await root.identity(name);
      const clientRoots = () => sidecar.root.pem;
      await sidecar.discovery.listen(port, { certificate: () => identity, clientRoots, requireClientCertificate: true });
    };
    await listen(sidecar.root, WORKLOAD);
    const { port } = sidecar.discovery;
    sidecar.start({ discoveryAddress: `127.0.0.1:${port}`, controlPlaneAuthPolicy: 'MUTUAL_TLS' });
    const failedHandshakes = async (): Promise<number> => {
      const text = await (
        await fetch(`http://127.0.0.1:${sidecar.ports.admin}/stats?filter=xds-grpc.ssl.fail_verify_san`)
      ).text();
      return Number(/: (\d+)/.exec(text)?.[1]);
    };
    await eventually('a server of another identity is refused', async () => (await failedHandshakes()) > 0 || undefined);
    expect(sidecar.discovery.nodes).to.deep.equal([]);
    await sidecar.discovery.close();
    await listen(sidecar.root, DISCOVERY, port);
    await sidecar.ready();
    expect(sidecar.discovery.nodes[0]).to.match(/^sidecar~/);
  });
});
