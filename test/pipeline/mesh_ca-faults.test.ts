import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { createCsr } from '../../src/io/x509/csr.ts';
import { generateKeyPair } from '../../src/io/x509/key.ts';
import { encodePem } from '../../src/io/x509/pem.ts';
import { CaProcess, newStoreDirectory, rootIn, tokenIssuers } from '../harness/ca-process.ts';
import { componentArguments } from '../harness/component-process.ts';
import { type CsrAnswer, CsrLoad, certificatesIn, createCertificateRequest } from '../harness/csr-load.ts';
import { freePort } from '../harness/free-port.ts';
import { claims, jwksOf, signToken, tokenKey } from '../harness/tokens.ts';

const HOUR = 3_600_000;
const key = tokenKey('k1');
const tokenAt = (now: number, changes: Readonly<Record<string, unknown>> = {}): string =>
  signToken(key, claims({ iss: 'lab', ...changes }, new Date(now)));

describe('mesh_ca under stress and faults', () => {
  let dir: string;
  let ahead: number;
  let csr: string;
  const running: { stop(): Promise<unknown> }[] = [];
  before(async () => {
    csr = (await createCsr({ ...(await generateKeyPair('ec-p256')) })).pem;
  });
  beforeEach(() => {
    dir = newStoreDirectory();
    tokenIssuers(dir, { lab: JSON.stringify({ issuer: 'lab', jwks: jwksOf(key) }) });
    ahead = 0;
  });
  afterEach(async () => {
    for (const part of running.splice(0)) await part.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function start(): Promise<CaProcess> {
    const now = (): Date => new Date(Date.now() + ahead);
    const ca = await CaProcess.start({ 'orch-config': dir, 'self-signed-ca': true }, {}, now);
    running.push(ca);
    return ca;
  }
  async function connect(port: number, token = tokenAt(Date.now())): Promise<CsrLoad> {
    const load = await CsrLoad.connect({ port, rootPem: rootIn(dir), token });
    running.push({ stop: async () => load.close() });
    return load;
  }
  const tally = (answers: readonly CsrAnswer[]): Readonly<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };

  it('answers a thousand requests at once, each with a certificate of its own', async () => {
    const load = await connect((await start()).port);
    const message = createCertificateRequest(csr);
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => load.call(message)));
    expect(tally(answers)).to.deep.equal({ '0': 1_000 });
    const serials = answers.map(({ body }) => new X509Certificate(certificatesIn(body)[0] ?? '').serialNumber);
    expect(new Set(serials).size).to.equal(1_000);
  });

  it('goes on after hostile requests, each of which is refused', async () => {
    const load = await connect((await start()).port);
    const good = createCertificateRequest(csr);
    const der = Buffer.from(csr.split('\n').slice(1, -2).join(''), 'base64');
    const flipped = Array.from({ length: 100 }, (_, index) => {
      const changed = Buffer.from(der);
      const at = (index * 7) % changed.length;
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      return createCertificateRequest(encodePem('CERTIFICATE REQUEST', changed));
    });
    const nested = encodePem('CERTIFICATE REQUEST', Buffer.from('30'.repeat(20_000), 'hex'));
    const hostile = [
      Buffer.alloc(0),
      randomBytes(500),
      createCertificateRequest(''),
      createCertificateRequest('x'.repeat(70_000)),
      createCertificateRequest('x'.repeat(200_000)),
      createCertificateRequest(nested),
      createCertificateRequest('-----BEGIN CERTIFICATE REQUEST-----\n'.repeat(1_500)),
      ...flipped,
    ];
    const answers = await Promise.all(hostile.map((message) => load.call(message)));
    expect(Object.keys(tally(answers))).to.have.members(['3', '8']);
    expect((await load.call(good)).status).to.equal('0');
  });

  it('minds the present time of tokens, wherever the clock jumps', async () => {
    const load = await connect((await start()).port);
    const message = createCertificateRequest(csr);
    const told = async (): Promise<string> => {
      const { status, message: text } = await load.call(message);
      return `${status} ${text}`;
    };
    expect(await told()).to.equal('0 ');
    ahead = 2 * HOUR;
    expect(await told()).to.match(/^16 the token is refused: it expired at/);
    ahead = 0;
    expect(await told()).to.equal('0 ');
    const later = await connect(load.port, tokenAt(Date.now(), { nbf: Math.floor(Date.now() / 1000) + 600 }));
    expect((await later.call(message)).message).to.match(/^the token is refused: it is not valid before/);
    ahead = HOUR / 2;
    expect((await later.call(message)).status).to.equal('0');
  });

  it('issues nothing while its clock is outside of the life of its root, and goes on when it is back', async () => {
    const load = await connect(
      (await start()).port,
      tokenAt(Date.now(), { exp: Math.floor(Date.now() / 1000) + 100 * 365 * 24 * 3600 }),
    );
    const message = createCertificateRequest(csr);
    for (const jump of [2 * 366 * 24 * HOUR, -24 * HOUR]) {
      ahead = jump;
      const { status, message: text } = await load.call(message);
      expect([status, text]).to.satisfy(
        ([code, reason]: readonly string[]) => code === '9' && reason?.includes('can issue nothing now'),
      );
    }
    ahead = 0;
    expect((await load.call(message)).status).to.equal('0');
  });

  async function spawnCa(
    options: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly child: ChildProcess; readonly port: number }> {
    const port = await freePort();
    const args = componentArguments('mesh_ca', 'run', 'caFlags', {
      'orch-config': dir,
      'self-signed-ca': true,
      'grpc-port': port,
      ...options,
    });
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    running.push({ stop: async () => child.kill('SIGKILL') });
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk) => {
        if (String(chunk).includes('serving certificate requests')) resolve();
      });
    });
    return { child, port };
  }

  it('answers every request that it took before SIGTERM, and ends with 0', async () => {
    const { child, port } = await spawnCa({ 'key-size': 4096 });
    const load = await connect(port);
    const message = createCertificateRequest(csr);
    const calls = Array.from({ length: 40 }, () => load.call(message));
    await Promise.race(calls);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const answers = await Promise.all(calls);
    expect(tally(answers)).to.deep.equal({ '0': 40 });
    expect((await exited)[0]).to.equal(0);
  }).timeout(120_000);

  it('does not start when its root cannot be stored for want of space', async () => {
    const options = { 'orch-config': dir, 'self-signed-ca': true, 'grpc-port': 0 };
    const fill = 'mount -t tmpfs -o size=16k none "$0" && (dd if=/dev/zero of="$0/fill" 2>/dev/null; exec "$@")';
    const command = [process.execPath, ...componentArguments('mesh_ca', 'run', 'caFlags', options)];
    const child = spawn('unshare', ['--user', '--map-root-user', '--mount', 'sh', '-c', fill, dir, ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += String(chunk);
    });
    const [code] = await once(child, 'exit');
    expect([code, errors]).to.satisfy(
      ([exit, text]: readonly [number, string]) =>
        exit === 1 && /^error: Secret mesh-system\/mesh-ca-secret cannot be written: .*no space left/.test(text),
      errors,
    );
  });
});
