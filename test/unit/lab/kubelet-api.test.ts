import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type IssuerKey, signCertificate, signRoot } from '../../../src/io/x509/certificate.ts';
import { readDetails } from '../../../src/io/x509/certificate-details.ts';
import { generateKeyPair, privateKeyPem } from '../../../src/io/x509/key.ts';
import type { SubjectName } from '../../../src/io/x509/names.ts';
import { encodePem } from '../../../src/io/x509/pem.ts';
import { validityFrom } from '../../../src/io/x509/template.ts';
import { type Caller, serveKubeletApi } from '../../../src/lab/node/kubelet-api.ts';
import { readLog } from '../../../src/lab/node/log-reader.ts';
import { parseLogRequest } from '../../../src/lab/node/log-request.ts';
import { selfSigned } from '../../../src/lab/node/serving-certificate.ts';
import { labPaths, podLogDirectory } from '../../../src/lab/paths.ts';
import { seconds } from '../../../src/lib/duration.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

describe('a request for logs', () => {
  const parse = (target: string): string => {
    const parsed = parseLogRequest(target);
    return parsed.ok ? JSON.stringify(parsed.value) : `${parsed.status} ${parsed.message}`;
  };

  it('names a container, and how much of its log', () => {
    expect(parseLogRequest('/containerLogs/foo/web-1/app?follow=true&tailLines=5&limitBytes=9&stream=All')).to.deep.equal({
      ok: true,
      value: { namespace: 'foo', pod: 'web-1', container: 'app', follow: true, tailLines: 5, limitBytes: 9 },
    });
    expect(parseLogRequest('/containerLogs/foo/web.1/app?previous=false')).to.have.property('ok', true);
  });

  for (const target of [
    '/pods',
    '/containerLogs/foo/web',
    '/containerLogs/../web/app',
    '/containerLogs/foo/%2e%2e/app',
    '/run/foo/web/app',
  ])
    it(`is not ${target}`, () => expect(parse(target)).to.match(/^404 /));

  for (const query of [
    'previous=true',
    'timestamps=true',
    'sinceSeconds=3',
    'sinceTime=x',
    'stream=Stdout',
    'tailLines=-1',
    'limitBytes=x',
  ])
    it(`cannot ask for ${query}`, () =>
      expect(parse(`/containerLogs/foo/web/app?${query}`)).to.match(/^400 .*log|^400 .*numbers/));
});

describe('logs of a node', () => {
  let dir: string;
  let path: string;
  const clock = new FakeClock('2030-01-01T00:00:00Z');
  const { signal } = new AbortController();

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-logs-'));
    path = join(dir, 'app.log');
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const read = async (options: { tailLines?: number; limitBytes?: number }): Promise<string> => {
    const reading = { isRunning: () => true, sleep: () => Promise.reject(new Error('nobody follows')), signal };
    const pieces: Uint8Array[] = [];
    const wanted = { follow: false, tailLines: undefined, limitBytes: undefined, ...options };
    for await (const piece of readLog(path, wanted, reading)) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };

  it('are the whole, the last lines, or the first bytes of these', async () => {
    writeFileSync(path, 'one\ntwo\nthree\n');
    expect(await read({})).to.equal('one\ntwo\nthree\n');
    expect(await read({ tailLines: 2 })).to.equal('two\nthree\n');
    expect(await read({ tailLines: 9 })).to.equal('one\ntwo\nthree\n');
    expect(await read({ tailLines: 0 })).to.equal('');
    expect(await read({ tailLines: 2, limitBytes: 5 })).to.equal('two\nt');
    appendFileSync(path, 'half');
    expect(await read({ tailLines: 2 })).to.equal('three\nhalf');
  });

  it('are nothing of a container that has printed nothing', async () => {
    expect(await read({})).to.equal('');
    expect(await read({ tailLines: 3 })).to.equal('');
  });

  it('are as long as they are, in pieces', async () => {
    const lines = Array.from({ length: 30_000 }, (_, index) => `line ${index}`);
    writeFileSync(path, `${lines.join('\n')}\n`);
    expect(await read({})).to.equal(`${lines.join('\n')}\n`);
    expect(await read({ tailLines: 20_000 })).to.equal(`${lines.slice(10_000).join('\n')}\n`);
  });

  it('grow until the container has ended, also over the beginning of a new file', async () => {
    let isRunning = true;
    writeFileSync(path, 'one\n');
    const options = { follow: true, tailLines: undefined, limitBytes: undefined };
    const pieces = readLog(path, options, {
      isRunning: () => isRunning,
      sleep: (time, until) => clock.sleep(time, until),
      signal,
    });
    const next = async (): Promise<string> => Buffer.from((await pieces.next()).value ?? []).toString();
    expect(await next()).to.equal('one\n');
    const second = next();
    await clock.sleeping();
    appendFileSync(path, 'two\n');
    await clock.wakeNext();
    expect(await second).to.equal('two\n');
    const third = next();
    await clock.sleeping();
    writeFileSync(path, 'new\n');
    isRunning = false;
    await clock.wakeNext();
    expect(await third).to.equal('new\n');
    expect((await pieces.next()).done).to.equal(true);
  });
});

/** Signs certificates of clients, as the authority of a cluster does. */
class ClientAuthority {
  readonly pem: string;
  readonly #key: IssuerKey;

  private constructor(pem: string, key: IssuerKey) {
    this.pem = pem;
    this.#key = key;
  }

  static async create(): Promise<ClientAuthority> {
    const { publicKey, privateKey } = await generateKeyPair('ec-p256');
    const template = { ...templateFor({ commonName: 'clients' }), publicKey, use: { type: 'ca' } as const };
    const pem = encodePem('CERTIFICATE', await signRoot(template, privateKey));
    const details = readDetails(new X509Certificate(pem));
    if (!details.ok) throw new Error('the root cannot be read');
    return new ClientAuthority(pem, { subjectDer: details.value.subjectDer, keyId: details.value.subjectKeyId, privateKey });
  }

  async issue(subject: SubjectName): Promise<{ readonly cert: string; readonly key: string }> {
    const { publicKey, privateKey } = await generateKeyPair('ec-p256');
    const use = { type: 'tls', server: false, client: true } as const;
    const der = await signCertificate({ ...templateFor(subject), publicKey, use }, this.#key);
    return { cert: encodePem('CERTIFICATE', der), key: privateKeyPem(privateKey).reveal() };
  }
}

const templateFor = (subject: SubjectName) => ({
  subject,
  names: [],
  serial: randomBytes(16),
  ...validityFrom(new Date(), seconds(3600)),
});

describe('the API of a node', () => {
  const API_SERVER: SubjectName = { organization: 'system:masters', commonName: 'kube-apiserver-kubelet-client' };
  let dir: string;
  let stop: AbortController;
  let server: Server;
  let authority: ClientAuthority;
  let asked: Caller[];
  let isAllowed: boolean;

  const containers = [{ name: 'app' }, { name: 'late' }];
  const pod: KubeObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'foo' },
    spec: { initContainers: [{ name: 'proxy', restartPolicy: 'Always' }], containers },
    status: {
      initContainerStatuses: [{ name: 'proxy', state: { running: {} } }],
      containerStatuses: [
        { name: 'app', state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: {} } },
        { name: 'late', state: { waiting: { reason: 'PodInitializing' } } },
      ],
    },
  };

  before(async () => {
    authority = await ClientAuthority.create();
  });
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-kubelet-'));
    const logs = podLogDirectory(labPaths(dir), 'foo', 'web');
    mkdirSync(logs, { recursive: true });
    for (const name of ['app', 'proxy']) writeFileSync(join(logs, `${name}.log`), `of ${name}\n`);
    stop = new AbortController();
    asked = [];
    isAllowed = true;
    server = await serveKubeletApi({
      host: '127.0.0.1',
      port: 0,
      ...(await selfSigned('system:node:lab', '127.0.0.1', new Date())),
      clientAuthority: authority.pem,
      mayCall: async (caller) => {
        asked.push(caller);
        return isAllowed;
      },
      pods: () => [pod],
      paths: labPaths(dir),
      sleep: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
      logger: new MemoryLogger(),
      signal: stop.signal,
    });
  });
  afterEach(async () => {
    const closed = once(server, 'close');
    stop.abort();
    await closed;
    rmSync(dir, { recursive: true });
  });

  /** Status and body, or what TLS says. */
  async function ask(path: string, identity: object, method = 'GET'): Promise<string> {
    const { port } = server.address() as AddressInfo;
    const call = request({ host: '127.0.0.1', port, path, method, agent: false, rejectUnauthorized: false, ...identity }).end();
    return new Promise((resolve) => {
      call.once('error', (error) => resolve(`refused: ${'code' in error ? error.code : error.message}`));
      call.once('response', async (response) => {
        const body = await response.setEncoding('utf8').toArray();
        resolve(`${response.statusCode} ${body.join('')}`.trim());
      });
    });
  }

  it('gives the log of a container to the API server, whom the cluster lets', async () => {
    const apiServer = await authority.issue(API_SERVER);
    expect(await ask('/containerLogs/foo/web/app', apiServer)).to.equal('200 of app');
    expect(await ask('/containerLogs/foo/web/proxy', apiServer), 'a native sidecar').to.equal('200 of proxy');
    expect(asked[0]).to.deep.equal({ user: 'kube-apiserver-kubelet-client', groups: ['system:masters'] });
  });

  it('lets nobody in without a certificate, or with one of somebody else', async () => {
    expect(await ask('/containerLogs/foo/web/app', {})).to.match(/^refused: /);
    const stranger = await (await ClientAuthority.create()).issue(API_SERVER);
    expect(await ask('/containerLogs/foo/web/app', stranger)).to.match(/^refused: /);
    expect(asked).to.deep.equal([]);
  });

  it('gives nothing to whom the cluster does not let, or who has no name', async () => {
    isAllowed = false;
    const user = await authority.issue({ commonName: 'somebody' });
    expect(await ask('/containerLogs/foo/web/app', user)).to.match(/^403 user "somebody" may not/);
    isAllowed = true;
    expect(await ask('/containerLogs/foo/web/app', await authority.issue({ organization: 'system:masters' }))).to.match(/^403 /);
  });

  it('says what it does not have', async () => {
    const apiServer = await authority.issue(API_SERVER);
    expect(await ask('/containerLogs/foo/web/none', apiServer)).to.match(
      /^404 pod foo\/web of this node has no container "none"/,
    );
    expect(await ask('/containerLogs/foo/other/app', apiServer)).to.match(/^404 /);
    expect(await ask('/containerLogs/foo/web/late', apiServer)).to.match(
      /^400 container "late" in pod "web" is waiting to start/,
    );
    expect(await ask('/exec/foo/web/app?command=id', apiServer, 'POST')).to.match(/^405 the lab has no exec/);
    expect(await ask('/runningpods/', apiServer)).to.match(/^404 /);
  });
});
