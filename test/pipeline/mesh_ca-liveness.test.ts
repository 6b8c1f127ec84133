import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { runProbe } from '../../src/io/probe/probe.ts';
import { type Duration, milliseconds, seconds } from '../../src/lib/duration.ts';
import { MeshError } from '../../src/lib/errors.ts';
import { CaProcess, newStoreDirectory } from '../harness/ca-process.ts';

const YEAR = 366 * 24 * 3600 * 1000;

describe('the liveness of mesh_ca', () => {
  let dir: string;
  let ahead: number;
  const running: CaProcess[] = [];
  beforeEach(() => {
    dir = newStoreDirectory();
    ahead = 0;
  });
  afterEach(async () => {
    for (const ca of running.splice(0)) await ca.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function start(options: Readonly<Record<string, unknown>> = {}): Promise<CaProcess> {
    const liveness = {
      'liveness-probe-path': join(dir, 'alive'),
      'liveness-probe-interval': milliseconds(200),
      'probe-check-interval': milliseconds(50),
    };
    const now = (): Date => new Date(Date.now() + ahead);
    const ca = await CaProcess.start({ 'orch-config': dir, 'self-signed-ca': true, ...liveness, ...options }, {}, now);
    running.push(ca);
    return ca;
  }
  const probe = async (interval: Duration): Promise<string> => {
    let output = '';
    const host = { now: () => new Date(), stdout: { write: (text: string) => (output += text) } };
    try {
      await runProbe({ options: { 'probe-path': join(dir, 'alive'), interval } }, host as never);
      return output;
    } catch (thrown) {
      return MeshError.from(thrown).message;
    }
  };
  async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  it('is shown by a file that says until when there is a certificate to sign with', async () => {
    const ca = await start();
    let alive = '';
    await until(() => {
      alive = existsSync(join(dir, 'alive')) ? readFileSync(join(dir, 'alive'), 'utf8') : '';
      return alive !== '';
    });
    expect(alive).to.match(/^ok\nexpires \d{4}-\S+Z days 364 certificate O=k8s\.cluster\.local \(serial /);
    expect(await probe(seconds(5))).to.equal('OK\n');
    expect(ca.log).to.match(/certificate issued.*mesh-citadel-service-account/);
  });

  it('ends when it cannot sign any more, and comes back with its clock', async () => {
    const ca = await start();
    await until(() => existsSync(join(dir, 'alive')));
    ahead = 3 * YEAR;
    await ca.logged('the certificate authority does not work: the liveness file is not renewed');
    expect(ca.log).to.contain('can issue nothing now: it is valid from');
    await until(async () => (await probe(milliseconds(200))).includes('was last touched'));
    ahead = 0;
    await until(async () => (await probe(milliseconds(200))) === 'OK\n');
  });

  it('is shown without a gRPC server too', async () => {
    const ca = await start({ 'grpc-port': 0 });
    await until(() => existsSync(join(dir, 'alive')));
    expect(ca.log).to.contain('no gRPC requests are served, as --grpc-port is 0');
    expect(ca.log).not.to.contain('serving certificate requests');
    await until(() => existsSync(join(dir, 'alive')));
  });
});
