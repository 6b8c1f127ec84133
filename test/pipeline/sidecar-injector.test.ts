/** The whole of sidecar-injector, called over HTTPS as an API server does. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DEFAULT_INJECTION_CONFIG } from '../../src/injection/default-config.ts';
import { generateKeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import { injectorFlags } from '../../src/sidecar-injector/flags.ts';
import { run } from '../../src/sidecar-injector/main.ts';
import { leafTemplate, makeRoot, signLeaf, type TestCa } from '../harness/certificates.ts';
import { InProcess } from '../harness/in-process.ts';
import { freePort } from '../harness/plain-envoy.ts';

const HOST = 'mesh-sidecar-injector.mesh-system.svc';
const pod = { metadata: { name: 'httpbin' }, spec: { containers: [{ name: 'httpbin', image: 'httpbin' }] } };
const review = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { uid: 'u1', kind: { group: '', kind: 'Pod' }, namespace: 'foo', operation: 'CREATE', object: pod },
};

describe('sidecar-injector', () => {
  let dir: string;
  let root: TestCa;
  let injector: InProcess | undefined;
  let port: number;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-injector-'));
    root = await makeCurrentRoot();
    await writeCertificate(root);
    writeFileSync(join(dir, 'inject'), DEFAULT_INJECTION_CONFIG);
    writeFileSync(join(dir, 'mesh'), '{}');
    writeFileSync(join(dir, 'webhook.yaml'), webhookManifest());
    port = await freePort();
  });

  afterEach(async () => {
    await injector?.stop();
    injector = undefined;
    rmSync(dir, { recursive: true, force: true });
  });

  const file = (name: string): string => join(dir, name);

  async function start(options: Readonly<Record<string, unknown>> = {}): Promise<InProcess> {
    const files = { caCertFile: file('ca.pem'), tlsCertFile: file('cert.pem'), tlsKeyFile: file('key.pem') };
    const given = { ...files, injectConfig: file('inject'), meshConfig: file('mesh'), orchconfig: dir, port, ...options };
    injector = await InProcess.start(run, injectorFlags, given, 'serving the injection webhook');
    return injector;
  }

  async function writeCertificate(ca: TestCa): Promise<void> {
    const pair = await generateKeyPair('ec-p256');
    const leaf = await signLeaf(ca, leafTemplate(pair, { ...lasting(), names: [{ type: 'dns', value: HOST }] }));
    writeFileSync(file('key.pem'), privateKeyPem(pair.privateKey).reveal());
    writeFileSync(file('cert.pem'), leaf.toString());
    writeFileSync(file('ca.pem'), ca.certificate.toString());
  }

  function post(body: string, ca: TestCa): Promise<string> {
    const options: RequestOptions = {
      host: '127.0.0.1',
      port,
      path: '/inject',
      method: 'POST',
      servername: HOST,
      ca: ca.certificate.toString(),
      agent: false,
      headers: { 'content-type': 'application/json' },
    };
    return new Promise((resolve, reject) => {
      const call = request(options, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve(text));
      });
      call.on('error', reject);
      call.end(body);
    });
  }

  const inject = async (ca: TestCa = root): Promise<string> => {
    const { response } = JSON.parse(await post(JSON.stringify(review), ca));
    return Buffer.from(response.patch ?? '', 'base64').toString();
  };

  it('adds the sidecar, and tells the API server how to check it', async () => {
    const running = await start();
    expect(await inject()).to.contain('mesh-proxy');
    await running.logged('CA bundle written');
    const bundle = Buffer.from(readFileSync(file('ca.pem'))).toString('base64');
    expect(readFileSync(file('webhook.yaml'), 'utf8').replace(/\s/g, '')).to.contain(bundle);
  });

  it('takes a new certificate while it runs, when both of its files have come', async () => {
    const running = await start();
    const other = await makeCurrentRoot();
    const [cert, key] = [readFileSync(file('cert.pem')), readFileSync(file('key.pem'))];
    await writeCertificate(other);
    const [newCert, newKey, newCa] = ['cert.pem', 'key.pem', 'ca.pem'].map((name) => readFileSync(file(name)));
    writeFileSync(file('cert.pem'), cert);
    writeFileSync(file('key.pem'), key);
    writeFileSync(file('cert.pem'), newCert ?? '');
    await running.logged('is not the private key of the certificate');
    expect(await inject(root), 'the last good pair serves').to.contain('mesh-proxy');
    writeFileSync(file('key.pem'), newKey ?? '');
    writeFileSync(file('ca.pem'), newCa ?? '');
    for (;;) {
      const patch = await inject(other).catch(() => '');
      if (patch !== '') break;
    }
  });

  it('takes a new injection configuration while it runs, and keeps the last good one', async () => {
    const running = await start();
    writeFileSync(file('inject'), DEFAULT_INJECTION_CONFIG.replace('mesh/proxy-init', 'registry.test/init'));
    while (!(await inject()).includes('registry.test/init'));
    writeFileSync(file('inject'), 'policy: maybe');
    await running.logged('injection configuration refused');
    expect(await inject()).to.contain('registry.test/init');
  });

  it('keeps its health file while it answers over HTTPS', async () => {
    await start({ healthCheckFile: file('health'), healthCheckInterval: 50 });
    for (;;) {
      try {
        expect(readFileSync(file('health'), 'utf8')).to.equal('ok');
        break;
      } catch {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  });

  it('does not start with a key of another certificate, naming both files', async () => {
    const { privateKey } = await generateKeyPair('ec-p256');
    writeFileSync(file('key.pem'), privateKeyPem(privateKey).reveal());
    const message = await start().then(
      () => '',
      (error: Error) => error.message,
    );
    expect(message).to.equal(
      `the webhook certificate is invalid: ${file('key.pem')}: is not the private key of the certificate in ${file('cert.pem')}`,
    );
  });

  it('says that it needs --orchconfig outside of a cluster', async () => {
    const message = await start({ orchconfig: '' }).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(message).to.contain('--orchconfig is required outside a cluster');
  });
});

const DAY_MS = 24 * 3600 * 1000;
function lasting() {
  return { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
}

function makeCurrentRoot(): Promise<TestCa> {
  return makeRoot('ec-p256', lasting());
}

function webhookManifest(): string {
  return `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: mesh-sidecar-injector
webhooks:
- name: sidecar-injector.mesh.io
  clientConfig:
    service: {name: mesh-sidecar-injector, namespace: mesh-system, path: /inject}
`;
}
