/** The link to pilot-discovery with TLS: who gets in, and who gets what. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { credentials, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { DeltaDiscoveryRequest } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { CLUSTER } from '../../src/delivery/types.ts';
import { type DeltaClient, deltaClient } from '../harness/ads-client.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { manifest } from '../harness/manifest.ts';
import { PlainEnvoy } from '../harness/plain-envoy.ts';
import { TestRoot } from '../harness/test-authority.ts';

const POD = 'web-1';
const NODE = `sidecar~10.1.1.1~${POD}.foo~foo.svc.cluster.local`;
const idOf = (namespace: string, account: string) => `spiffe://cluster.local/ns/${namespace}/sa/${account}`;
const SERVER = idOf('mesh-system', 'mesh-pilot-service-account');

const pod = (serviceAccountName: string, address = '10.1.1.1') => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: POD, namespace: 'foo' },
  spec: { serviceAccountName, containers: [{ name: 'web', image: 'web' }] },
  status: { phase: 'Running', podIP: address, podIPs: [{ ip: address }] },
});
const mesh = (text: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'mesh', namespace: 'mesh-system' },
  data: { mesh: text },
});
const MUTUAL_TLS = mesh('defaultConfig: {controlPlaneAuthPolicy: MUTUAL_TLS}');

describe('pilot-discovery over TLS', function () {
  this.timeout(120_000);
  let dir: string;
  let root: TestRoot;
  let discovery: DiscoveryProcess | undefined;
  const clients: DeltaClient[] = [];

  const file = (name: string) => join(dir, 'certs', name);
  const flags = () => ({
    orchconfig: join(dir, 'config'),
    tlsCertFile: file('cert.pem'),
    tlsKeyFile: file('key.pem'),
    caCertFile: file('root.pem'),
  });

  async function writeCertificates(part: 'all' | 'certificate' = 'all'): Promise<void> {
    const { keyPem, chainPem } = await root.identity({ type: 'uri', value: SERVER }, { type: 'ip', value: '127.0.0.1' });
    writeFileSync(file('cert.pem'), chainPem);
    if (part === 'all') writeFileSync(file('key.pem'), keyPem);
  }

  async function start(...objects: readonly object[]): Promise<DiscoveryProcess> {
    manifest(join(dir, 'config'), 'mesh.yaml', ...objects);
    discovery = await DiscoveryProcess.start(flags());
    return discovery;
  }

  /** A client that shows a certificate of an identity, by an authority. */
  async function as(id: string, by = root) {
    const { keyPem, chainPem } = await by.identity({ type: 'uri', value: id });
    return credentials.createSsl(Buffer.from(root.pem), Buffer.from(keyPem), Buffer.from(chainPem));
  }

  function connect(port: number, how = credentials.createInsecure(), node = NODE): DeltaClient {
    const client = deltaClient(port, undefined, how);
    clients.push(client);
    client.send(DeltaDiscoveryRequest.fromPartial({ node: { id: node }, typeUrl: CLUSTER }));
    return client;
  }

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-tls-'));
    manifest(join(dir, 'certs'), 'root.pem');
    root = await TestRoot.create();
    writeFileSync(file('root.pem'), root.pem);
    await writeCertificates();
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await discovery?.stop();
    discovery = undefined;
    rmSync(dir, { recursive: true, force: true });
  });

  it('serves a proxy of its own identity on either port, beside plaintext', async () => {
    const { ports } = await start(pod('web'));
    const own = await as(idOf('foo', 'web'));
    for (const port of [ports.grpc, ports.http]) {
      expect((await connect(port, own).next()).typeUrl).to.equal(CLUSTER);
      expect((await connect(port).next()).typeUrl).to.equal(CLUSTER);
      const unnamed = credentials.createSsl(Buffer.from(root.pem));
      expect((await connect(port, unnamed).next()).typeUrl).to.equal(CLUSTER);
    }
  });

  const STRANGERS = [
    ['another service account', 'web', NODE, idOf('foo', 'other'), [idOf('foo', 'other'), idOf('foo', 'web')]],
    ['another namespace', 'web', NODE, idOf('bar', 'web'), [idOf('bar', 'web'), idOf('foo', 'web')]],
    ['another trust domain', 'web', NODE, 'spiffe://evil/ns/foo/sa/web', ['spiffe://evil/ns/foo/sa/web', idOf('foo', 'web')]],
    ['an unknown pod', 'web', NODE.replace(POD, 'web-2'), idOf('foo', 'web'), [idOf('foo', 'web'), 'no pod foo/web-2 is known']],
    ['another address', 'web', NODE.replace('10.1.1.1', '10.1.1.2'), idOf('foo', 'web'), [idOf('foo', 'web'), '10.1.1.1']],
  ] as const;
  for (const [what, account, node, id, words] of STRANGERS) {
    it(`refuses ${what}, naming what was shown and what was needed`, async () => {
      const { ports } = await start(pod(account));
      const { code, details } = await connect(ports.grpc, await as(id), node).ended;
      expect(code).to.equal(status.PERMISSION_DENIED);
      for (const word of words) expect(details).to.include(word);
    });
  }

  it('closes the connection of a certificate that another authority issued', async () => {
    const { ports } = await start(pod('web'));
    const { code } = await connect(ports.grpc, await as(idOf('foo', 'web'), await TestRoot.create())).ended;
    expect(code).to.equal(status.UNAVAILABLE);
  });

  it('refuses who shows no certificate where the mesh configuration asks for mutual TLS, on streams and by REST', async () => {
    const { ports } = await start(pod('web'), MUTUAL_TLS);
    for (const how of [undefined, credentials.createSsl(Buffer.from(root.pem))]) {
      const { code, details } = await connect(ports.grpc, how).ended;
      expect(code).to.equal(status.UNAUTHENTICATED);
      expect(details).to.include('controlPlaneAuthPolicy');
    }
    const body = JSON.stringify({ node: { id: NODE } });
    const headers = { 'content-type': 'application/json' };
    const page = `http://127.0.0.1:${ports.http}/v3/discovery:clusters`;
    expect((await fetch(page, { method: 'POST', headers, body })).status).to.equal(401);
    expect((await connect(ports.grpc, await as(idOf('foo', 'web'))).next()).typeUrl).to.equal(CLUSTER);
    expect((await fetch(`http://127.0.0.1:${ports.http}/ready`)).status).to.equal(200);
  });

  it('answers REST over TLS, each identity its own', async () => {
    const { ports } = await start(pod('web'), MUTUAL_TLS);
    const ask = async (id: string): Promise<number | undefined> => {
      const { keyPem: key, chainPem: cert } = await root.identity({ type: 'uri', value: id });
      const options = { host: '127.0.0.1', port: ports.http, path: '/v3/discovery:clusters', method: 'POST', agent: false };
      const headers = { 'content-type': 'application/json' };
      return new Promise((resolve, reject) => {
        const asked = request({ ...options, headers, key, cert, ca: root.pem }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        asked.on('error', reject);
        asked.end(JSON.stringify({ node: { id: NODE } }));
      });
    };
    expect(await ask(idOf('foo', 'web'))).to.equal(200);
    expect(await ask(idOf('foo', 'other'))).to.equal(403);
  });

  describe('its pages below /debug', () => {
    const OWN_DUMP = `/debug/config_dump?proxyID=${POD}.foo`;

    /** Asks as somebody on another machine would; without an identity in plaintext. */
    async function ask(path: string, id?: string): Promise<{ readonly status: number | undefined; readonly body: string }> {
      const port = discovery?.ports.http;
      const options = { host: '127.0.0.1', localAddress: '127.0.0.2', port, path, agent: false };
      const shown = id === undefined ? undefined : await root.identity({ type: 'uri', value: id });
      return new Promise((resolve, reject) => {
        const asked =
          shown === undefined
            ? plainRequest(options)
            : request({ ...options, key: shown.keyPem, cert: shown.chainPem, ca: root.pem });
        asked.on('response', (response) => {
          let body = '';
          response.on('data', (chunk) => (body += chunk));
          response.on('end', () => resolve({ status: response.statusCode, body }));
        });
        asked.on('error', reject);
        asked.end();
      });
    }
    const statuses = async (id: string | undefined, ...paths: readonly string[]) =>
      Promise.all(paths.map(async (path) => (await ask(path, id)).status));

    it('are open where discovery is', async () => {
      await start(pod('web'));
      expect(await statuses(undefined, '/debug/registryz', '/debug/syncz')).to.deep.equal([200, 200]);
    });

    it('are for this machine and the control plane’s own identities where mutual TLS is asked for', async () => {
      const { page } = await start(pod('web'), MUTUAL_TLS);
      const pages = ['/debug', '/debug/registryz', '/debug/syncz', '/debug/adsz?push=1'] as const;
      expect(await statuses(undefined, ...pages)).to.deep.equal([401, 401, 401, 401]);
      expect((await ask('/debug/registryz')).body).to.include('controlPlaneAuthPolicy');
      expect(await statuses(undefined, '/ready')).to.deep.equal([200]);
      expect(await statuses(SERVER, ...pages)).to.deep.equal([200, 200, 200, 200]);
      expect(await statuses('spiffe://evil/ns/mesh-system/sa/web', ...pages)).to.deep.equal([403, 403, 403, 403]);
      expect((await page.call(discovery, '/debug/registryz')).status).to.equal(200);
    });

    it('show a workload what is its own', async () => {
      const other = { ...pod('other', '10.1.1.2'), metadata: { name: 'other-1', namespace: 'foo' } };
      const otherNode = NODE.replace(POD, 'other-1').replace('10.1.1.1', '10.1.1.2');
      const { ports } = await start(pod('web'), other, MUTUAL_TLS);
      await connect(ports.grpc, await as(idOf('foo', 'web'))).next();
      await connect(ports.grpc, await as(idOf('foo', 'other')), otherNode).next();
      const web = idOf('foo', 'web');
      const { status: answer, body } = await ask(OWN_DUMP, web);
      expect([answer, JSON.parse(body).proxy]).to.deep.equal([200, NODE]);
      for (const path of ['/debug/syncz', '/debug/adsz']) {
        const shown: readonly { readonly proxy: string }[] = JSON.parse((await ask(path, web)).body);
        expect(shown.map(({ proxy }) => proxy)).to.deep.equal([NODE]);
      }
      const foreign = [OWN_DUMP.replace(POD, 'other-1'), '/debug/registryz', '/debug/edsz', '/debug/adsz?push=1'];
      expect(await statuses(web, ...foreign)).to.deep.equal([403, 403, 403, 403]);
    });
  });

  it('ends a stream whose pod runs as somebody else by now', async () => {
    const { ports } = await start(pod('web'));
    const client = connect(ports.grpc, await as(idOf('foo', 'web')));
    await client.next();
    manifest(join(dir, 'config'), 'mesh.yaml', pod('other'));
    const { code, details } = await client.ended;
    expect(code).to.equal(status.PERMISSION_DENIED);
    expect(details).to.include(idOf('foo', 'web')).and.include(idOf('foo', 'other'));
  });

  it('ends plaintext streams when the mesh configuration begins to ask for mutual TLS', async () => {
    const { ports } = await start(pod('web'));
    const client = connect(ports.grpc);
    await client.next();
    manifest(join(dir, 'config'), 'mesh.yaml', pod('web'), MUTUAL_TLS);
    expect((await client.ended).code).to.equal(status.UNAUTHENTICATED);
  });

  it('shows a new certificate once it is whole, and goes on with the last good one until then', async () => {
    const process = await start(pod('web'));
    const own = await as(idOf('foo', 'web'));
    const running = connect(process.ports.grpc, own);
    await running.next();
    root = await TestRoot.create();
    await writeCertificates('certificate');
    await process.logged('TLS certificate refused; the last good one stays in force');
    expect((await connect(process.ports.grpc, own).next()).typeUrl).to.equal(CLUSTER);
    await writeCertificates();
    writeFileSync(file('root.pem'), root.pem);
    await process.logged('certificates read again');
    expect((await connect(process.ports.grpc, await as(idOf('foo', 'web'))).next()).typeUrl).to.equal(CLUSTER);
    expect((await connect(process.ports.grpc, own).ended).code).to.equal(status.UNAVAILABLE);
  });

  it('serves TLS from when the default files appear, be they half-written first', async () => {
    const { orchconfig, ...files } = flags();
    const whole = await root.identity({ type: 'uri', value: SERVER }, { type: 'ip', value: '127.0.0.1' });
    rmSync(join(dir, 'certs'), { recursive: true });
    manifest(join(dir, 'certs'), 'README');
    manifest(orchconfig, 'mesh.yaml', pod('web'));
    discovery = await DiscoveryProcess.start({ orchconfig }, undefined, {}, files);
    const own = await as(idOf('foo', 'web'));
    expect((await connect(discovery.ports.grpc, own).ended).code).to.equal(status.UNAVAILABLE);
    writeFileSync(file('root.pem'), root.pem);
    writeFileSync(file('key.pem'), whole.keyPem);
    writeFileSync(file('cert.pem'), whole.chainPem.slice(0, 100));
    await discovery.logged('TLS certificate refused; still waiting for a good one');
    writeFileSync(file('cert.pem'), whole.chainPem);
    await discovery.logged('TLS is served with them');
    expect((await connect(discovery.ports.grpc, own).next()).typeUrl).to.equal(CLUSTER);
    rmSync(file('key.pem'));
    await discovery.logged('the last good one stays in force');
    expect((await connect(discovery.ports.grpc, own).next()).typeUrl).to.equal(CLUSTER);
  });

  it('expects its own name to be of the namespace that it is told', async () => {
    manifest(join(dir, 'config'), 'mesh.yaml', pod('web'));
    discovery = await DiscoveryProcess.start({ ...flags(), namespace: 'control' });
    expect(discovery.log).to.include('spiffe://<trust domain>/ns/control/sa/mesh-pilot-service-account');
  });

  it('warns of a certificate that no proxy accepts', async () => {
    const { keyPem, chainPem } = await root.identity({ type: 'dns', value: 'mesh-pilot' });
    writeFileSync(file('cert.pem'), chainPem);
    writeFileSync(file('key.pem'), keyPem);
    const { log } = await start(pod('web'));
    expect(log)
      .to.include('proxies will not accept this certificate')
      .and.include(SERVER.replace('cluster.local', '<trust domain>'));
  });

  const START: readonly (readonly [string, () => void | Promise<void>, string])[] = [
    ['a file is missing', () => rmSync(file('key.pem')), 'key.pem (--tlsKeyFile)'],
    [
      'the key is that of another certificate',
      () => writeCertificates('certificate'),
      'is not the private key of the certificate in',
    ],
    ['there are no roots', () => writeFileSync(file('root.pem'), ''), 'root.pem: '],
    ['the certificate is none', () => writeFileSync(file('cert.pem'), 'no'), 'cert.pem: '],
  ];
  for (const [what, spoil, words] of START) {
    it(`does not start when ${what}, and says which file`, async () => {
      await spoil();
      const error = await start(pod('web')).then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error?.message).to.include(words);
    });
  }

  it('takes a real Envoy that checks who the server is', async () => {
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'foo' },
      spec: { clusterIP: '10.96.0.1', ports: [{ name: 'http', port: 8000 }] },
    };
    const { ports } = await start(pod('web'), service, MUTUAL_TLS);
    const identity = await root.identity({ type: 'uri', value: idOf('foo', 'web') });
    const envoy = await PlainEnvoy.start(ports.grpc, 'DELTA_GRPC', {
      ...identity,
      node: NODE,
      rootPem: root.pem,
      serverId: SERVER,
    });
    try {
      while (!(await envoy.admin('/clusters')).includes('outbound|8000||web.foo')) await delay(25);
    } finally {
      await envoy.stop();
    }
  });
});
