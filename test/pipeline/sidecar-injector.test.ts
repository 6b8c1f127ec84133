/** The whole of sidecar-injector, called over HTTPS as an API server does. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { expect } from 'chai';
import { DEFAULT_INJECTION_CONFIG } from '../../src/injection/default-config.ts';
import { generateKeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import {
  answerOf,
  type HttpAnswer,
  InjectorUnderTest,
  newRoot,
  review,
  webhookManifest,
} from '../harness/injector-under-test.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('sidecar-injector', function () {
  this.timeout(120_000);
  let injector: InjectorUnderTest;

  beforeEach(async () => {
    injector = await InjectorUnderTest.create();
  });
  afterEach(() => injector.remove());

  const bundle = (): string => Buffer.from(injector.read('ca.pem')).toString('base64');
  const bundleIsWritten = (): boolean =>
    existsSync(injector.file('webhook.yaml')) && injector.read('webhook.yaml').replace(/\s/g, '').includes(bundle());

  async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await holds())) await turn();
  }

  const failureOf = async (start: Promise<unknown>): Promise<string> =>
    start.then(
      () => '',
      (error: Error) => error.message,
    );

  it('adds the sidecar, and tells the API server how to check it', async () => {
    const running = await injector.start();
    expect(await injector.inject()).to.contain('mesh-proxy');
    await running.logged('CA bundle written');
    expect(bundleIsWritten()).to.equal(true);
  });

  it('tells the API server again when the bundle is edited, and when the configuration is deleted and made anew', async () => {
    await injector.start();
    await until(bundleIsWritten);
    const edited = injector.read('webhook.yaml').replace(bundle(), 'AAAA');
    expect(edited).to.contain('caBundle: AAAA');
    injector.write('webhook.yaml', edited);
    await until(bundleIsWritten);
    rmSync(injector.file('webhook.yaml'));
    injector.write('other.yaml', webhookManifest().replace('name: mesh-sidecar-injector', 'name: other'));
    injector.write('webhook.yaml', webhookManifest());
    await until(bundleIsWritten);
    expect(injector.read('other.yaml'), 'what is not its own').not.to.contain('caBundle');
  });

  it('takes a new certificate while it runs, when both of its files have come', async () => {
    const running = await injector.start();
    const other = await newRoot();
    const [cert, key] = ['cert.pem', 'key.pem'].map((name) => injector.read(name));
    await injector.writeCertificate(other);
    const [newCert = '', newKey = '', newCa = ''] = ['cert.pem', 'key.pem', 'ca.pem'].map((name) => injector.read(name));
    injector.write('cert.pem', cert ?? '');
    injector.write('key.pem', key ?? '');
    injector.write('cert.pem', newCert);
    await running.logged('is not the private key of the certificate');
    expect(await injector.inject(), 'the last good pair serves').to.contain('mesh-proxy');
    injector.write('key.pem', newKey);
    injector.write('ca.pem', newCa);
    await until(async () => (await injector.inject(other).catch(() => '')) !== '');
  });

  it('takes a new injection configuration while it runs, and keeps the last good one', async () => {
    const running = await injector.start();
    injector.write('inject', DEFAULT_INJECTION_CONFIG.replace('mesh/proxy-init', 'registry.test/init'));
    await until(async () => (await injector.inject()).includes('registry.test/init'));
    injector.write('inject', 'policy: maybe');
    await running.logged('injection configuration refused');
    expect(await injector.inject()).to.contain('registry.test/init');
    injector.write('inject', DEFAULT_INJECTION_CONFIG.replace('{%- endif %}', ''));
    await running.logged('the template is wrong');
    expect(await injector.inject()).to.contain('registry.test/init');
  });

  it('takes a new mesh configuration while it runs, and keeps the last good one', async () => {
    const running = await injector.start();
    injector.write('mesh', 'trustDomain: example.test');
    await until(async () => (await injector.inject()).includes('example.test'));
    injector.write('mesh', 'trustDomain: [');
    await running.logged('mesh configuration refused; the last good one stays in force');
    expect(await injector.inject()).to.contain('example.test');
  });

  it('keeps its health file while it answers over HTTPS', async () => {
    await injector.start({ healthCheckFile: injector.file('health'), healthCheckInterval: 50 });
    await until(() => existsSync(injector.file('health')) && readFileSync(injector.file('health'), 'utf8') === 'ok');
  });

  it('does not start with a key of another certificate, naming both files', async () => {
    const { privateKey } = await generateKeyPair('ec-p256');
    injector.write('key.pem', privateKeyPem(privateKey).reveal());
    const [key, cert] = [injector.file('key.pem'), injector.file('cert.pem')];
    expect(await failureOf(injector.start())).to.equal(
      `the webhook certificate is invalid: ${key}: is not the private key of the certificate in ${cert}`,
    );
  });

  it('refuses a body over its limit, announced or not, and goes on', async () => {
    await injector.start();
    const announced = await injector.post('', { headers: { 'content-type': 'application/json', 'content-length': 5 << 20 } });
    expect(announced.status).to.equal(413);
    const large = Buffer.alloc(5 << 20, ' ');
    const streamed = await injector
      .post(large, { headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } })
      .catch(() => ({ status: 413 }));
    expect(streamed.status, 'or cut off while it is still being sent').to.equal(413);
    expect(await injector.inject()).to.contain('mesh-proxy');
  });

  it('answers a thousand reviews over a hundred connections at once, each with its own UID', async () => {
    await injector.start();
    const agent = new Agent({ keepAlive: true, maxSockets: 100 });
    const uids = Array.from({ length: 1_000 }, (_, index) => `uid-${index}`);
    const answers = await Promise.all(uids.map((uid) => injector.post(review(uid), { agent })));
    agent.destroy();
    expect(answers.map(({ text }) => JSON.parse(text).response.uid)).to.deep.equal(uids);
    expect(new Set(answers.map(({ text }) => JSON.parse(text).response.patch)).size).to.equal(1);
  });

  it('ends the review that it is receiving when it is told to stop, and takes no other', async () => {
    const running = await injector.start();
    const body = review();
    const answer = await new Promise<HttpAnswer>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const call = request({ ...injector.requestOptions(), headers }, (response) => void answerOf(response).then(resolve));
      call.on('error', reject);
      call.write(body.slice(0, 100), async () => {
        // The review of another has been answered: the first bytes of this one have come too.
        await injector.inject();
        void running.stop();
        await running.logged('stopping');
        call.end(body.slice(100));
      });
    });
    expect(JSON.parse(answer.text).response).to.include({ uid: 'u1', allowed: true });
    expect(await running.exit).to.equal(0);
    expect(await failureOf(injector.inject())).to.contain('ECONNREFUSED');
  });
});
