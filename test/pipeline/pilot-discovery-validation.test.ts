/** The validating webhook as an API server calls it, on a directory of manifests. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { openStore } from '../../src/sources/store/open.ts';
import { kinds } from '../contract/object-store.ts';
import { policy } from '../harness/discovery-manifests.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { freePort } from '../harness/free-port.ts';
import { manifest } from '../harness/manifest.ts';
import { eventually } from '../harness/sidecar.ts';
import { TestRoot } from '../harness/test-authority.ts';

const ENTRY = 'policy-validation.mesh.io';

describe('the validating webhook of pilot-discovery', function () {
  this.timeout(120_000);
  let dir: string;
  let port: number;
  let root: TestRoot;
  let discovery: DiscoveryProcess;
  const file = (name: string): string => join(dir, 'certs', name);

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-validation-'));
    port = await freePort();
    manifest(join(dir, 'certs'), 'root.pem');
    await certify(await TestRoot.create());
    const { apiVersion, kind } = kinds.validatingWebhookConfiguration;
    const metadata = { name: 'mesh-policy-validation' };
    manifest(join(dir, 'config'), 'webhook.yaml', { apiVersion, kind, metadata, webhooks: [{ name: ENTRY, clientConfig: {} }] });
    manifest(join(dir, 'config'), 'policy.yaml', policy('older', { targets: [{ name: 'web' }] }));
    discovery = await DiscoveryProcess.start({
      orchconfig: join(dir, 'config'),
      validationAddr: `127.0.0.1:${port}`,
      tlsCertFile: file('cert.pem'),
      tlsKeyFile: file('key.pem'),
      caCertFile: file('root.pem'),
    });
    await discovery.logged('serving the validating webhook');
  });
  afterEach(async () => {
    await discovery.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function certify(by: TestRoot): Promise<void> {
    root = by;
    const id = 'spiffe://cluster.local/ns/mesh-system/sa/mesh-pilot-service-account';
    const { keyPem, chainPem } = await root.identity({ type: 'uri', value: id }, { type: 'ip', value: '127.0.0.1' });
    writeFileSync(file('root.pem'), root.pem);
    writeFileSync(file('cert.pem'), chainPem);
    writeFileSync(file('key.pem'), keyPem);
  }

  async function caBundle(): Promise<string | undefined> {
    const options = { flag: '--orchconfig', kinds, env: {}, cwd: dir, now: () => new Date(), newUid: () => '' };
    const store = openStore('config', options);
    try {
      const found = await store.get({ kind: kinds.validatingWebhookConfiguration, name: 'mesh-policy-validation' });
      const [webhook] = found['webhooks'] as readonly { readonly clientConfig: { readonly caBundle?: string } }[];
      return webhook?.clientConfig.caBundle;
    } finally {
      await store.close();
    }
  }

  /** The answer to a review, asked with trust in one root. */
  function ask(object: object, path = '/validate'): Promise<{ readonly status: number; readonly body: string }> {
    const kind = { group: 'authentication.mesh.io', version: 'v1alpha1', kind: 'Policy' };
    const review = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: { uid: 'u', kind, operation: 'CREATE', namespace: 'foo', object },
    };
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      const options = { host: '127.0.0.1', port, path, method: 'POST', headers, ca: root.pem, agent: false };
      const call = request(options, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      });
      call.on('error', reject);
      call.end(JSON.stringify(review));
    });
  }

  it('decides about what is stored right now, and counts and logs what it refuses', async () => {
    expect(JSON.parse((await ask(policy('younger', { targets: [{ name: 'web' }] }))).body).response).to.deep.include({
      allowed: false,
      status: {
        status: 'Failure',
        message: 'Policy foo/younger has no effect on service web.foo: Policy foo/older is older and claims it too',
        code: 400,
      },
    });
    rmSync(join(dir, 'config', 'policy.yaml'));
    await eventually('the older one is gone', async () => {
      const { response } = JSON.parse((await ask(policy('younger', { targets: [{ name: 'web' }] }))).body);
      return response.allowed === true;
    });
    expect(discovery.log).to.include('policy refused');
    expect(await discovery.metrics()).to.match(/pilot_policy_reviews_total\{result="refused"\} [1-9]/);
    expect((await ask({}, '/inject')).status).to.equal(404);
  });

  it('takes new certificates while it runs, and tells the API server of their root', async () => {
    const bundleOf = (by: TestRoot): string => Buffer.from(by.pem).toString('base64');
    const first = root;
    await eventually('the first root is written', async () => (await caBundle()) === bundleOf(first));
    await certify(await TestRoot.create());
    await eventually('the second root is written', async () => (await caBundle()) === bundleOf(root));
    expect((await ask(policy('other'))).status).to.equal(200);
  });
});
