import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { freePort } from '../harness/free-port.ts';
import { MeshProcess } from '../harness/mesh-process.ts';
import { skipOutsideCi } from '../harness/skip-outside-ci.ts';

const hasGo = spawnSync('go', ['version']).status === 0;

describe('profiles of pilot-discovery', () => {
  let dir: string;
  let port: number;
  let discovery: MeshProcess | undefined;

  const start = async (...flags: string[]): Promise<void> => {
    const ports = ['--port', '0', '--grpcAddr', '127.0.0.1:0', '--monitoringPort', String(port)];
    const started = new MeshProcess(['pilot-discovery', 'discovery', '--orchconfig', join(dir, 'manifests'), ...ports, ...flags]);
    discovery = started;
    await started.until(() => started.stdout.includes('serving discovery'));
  };
  const page = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const download = async (path: string): Promise<{ readonly file: string; readonly text: string }> => {
    const response = await page(path);
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([200, 'application/octet-stream']);
    const bytes = Buffer.from(await response.arrayBuffer());
    const file = join(dir, 'profile.pb.gz');
    writeFileSync(file, bytes);
    return { file, text: gunzipSync(bytes).toString('latin1') };
  };
  /** Pages of metrics, as fast as they are served, until something is done. */
  const underLoad = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    const end = () => {
      done = true;
    };
    work.then(end, end);
    while (!done) await (await page('/metrics')).text();
    return work;
  };
  const top = (file: string) => spawnSync('go', ['tool', 'pprof', '-top', '-nodecount', '1000', file], { encoding: 'utf8' });

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-profile-'));
    mkdirSync(join(dir, 'manifests'));
    port = await freePort();
  });
  afterEach(async () => {
    await discovery?.stop();
    discovery = undefined;
    rmSync(dir, { recursive: true });
  });

  it('are there with --profile alone', async () => {
    await start();
    for (const path of ['/debug/pprof/', '/debug/pprof/profile?seconds=1', '/debug/pprof/heap']) {
      const response = await page(path);
      expect(`${response.status} ${await response.text()}`).to.equal(
        '404 there are no profiles at /debug/pprof/: start with --profile\n',
      );
    }
  });

  it('tell where CPU time and memory go, one CPU profile at a time', async () => {
    await start('--profile');
    expect(await (await page('/debug/pprof/')).text()).to.match(/^profile /m);
    expect((await page('/debug/pprof/profile?seconds=61')).status).to.equal(400);
    const [first, second] = [page('/debug/pprof/profile?seconds=1'), page('/debug/pprof/profile?seconds=1')];
    const refused = await Promise.race([first, second]);
    expect(`${refused.status} ${await refused.text()}`).to.match(/^409 a CPU profile is being taken/);
    await Promise.all([first, second]);
    const cpu = await underLoad(download('/debug/pprof/profile?seconds=1'));
    expect(cpu.text).to.include('/src/pilot-discovery/metrics.ts').and.include('nanoseconds');
    expect((await download('/debug/pprof/heap')).text)
      .to.include('inuse_space')
      .and.include('/src/');
  });

  it('are opened by go tool pprof', async function () {
    if (!hasGo) skipOutsideCi(this, 'go tool pprof is missing; install Go');
    this.timeout(120_000);
    await start('--profile');
    const cpu = top((await underLoad(download('/debug/pprof/profile?seconds=1'))).file);
    expect(cpu.status, cpu.stderr).to.equal(0);
    expect(cpu.stdout)
      .to.match(/^Type: cpu$/m)
      .and.match(/^ +[\d.]+m?s +[\d.]+% .*\S$/m);
    const heap = top((await download('/debug/pprof/heap')).file);
    expect(heap.status, heap.stderr).to.equal(0);
    expect(heap.stdout)
      .to.match(/^Type: inuse_space$/m)
      .and.match(/\d+(?:\.\d+)?[kM]B +\d/);
  });

  it('do not hold up the end of the component', async () => {
    await start('--profile');
    const taken = [page('/debug/pprof/profile?seconds=60'), page('/debug/pprof/profile?seconds=60')];
    await Promise.race(taken);
    expect(await discovery?.stop()).to.equal(0);
    expect((await Promise.all(taken)).map(({ status }) => status).sort()).to.deep.equal([409, 503]);
  });
});
