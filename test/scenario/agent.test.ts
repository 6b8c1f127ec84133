import { execFile } from 'node:child_process';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { seconds } from '../../src/lib/duration.ts';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import { Peer } from '../harness/peer.ts';
import { eventually, isRunning, Sidecar } from '../harness/sidecar.ts';
import { TestRoot } from '../harness/test-authority.ts';

describe('pilot-agent proxy with a real proxy', function () {
  this.timeout(120_000);
  let sidecar: Sidecar;
  const peers: Peer[] = [];
  const peer = async (keepAlive = false, roots?: string): Promise<Peer> => {
    const created = await Peer.create(sidecar, keepAlive, roots);
    peers.push(created);
    return created;
  };

  beforeEach(async () => {
    sidecar = await Sidecar.prepare();
  });
  afterEach(async () => {
    for (const each of peers.splice(0)) each.close();
    await sidecar.stop();
  });

  it('brings up a proxy that serves mutual TLS with the workload certificate', async () => {
    sidecar.start();
    await sidecar.ready();
    expect((await (await peer()).get('/')).body).to.equal('ok');
    expect(sidecar.authority.tokens).to.deep.equal(['Bearer first-token']);
    expect(sidecar.discovery.nodes[0]).to.equal('sidecar~127.0.0.1~web-1.foo~foo.svc.cluster.local');
    expect(sidecar.discovery.refusals).to.deep.equal([]);
    const statistics = await fetch(`http://127.0.0.1:${sidecar.ports.prometheus}/stats/prometheus`);
    expect(await statistics.text()).to.contain('envoy_cluster_upstream_cx_total{cluster_name="application"}');
    const elsewhere = await fetch(`http://127.0.0.1:${sidecar.ports.prometheus}/config_dump`);
    expect(elsewhere.status).to.equal(404);
  });

  it('keeps bootstrap and socket to itself, and the key out of files and logs', async () => {
    sidecar.start();
    await sidecar.ready();
    const bootstrap = join(sidecar.folder, 'proxy', 'envoy-rev0.json');
    const socket = join(sidecar.folder, 'proxy', 'sds.sock');
    expect((await stat(bootstrap)).mode & 0o777).to.equal(0o600);
    expect((await stat(socket)).mode & 0o777).to.equal(0o600);
    expect((await readFile(bootstrap, 'utf8')) + sidecar.output).not.to.match(/PRIVATE KEY|first-token/);
  });

  it('is not ready without discovery, and becomes ready when it comes', async () => {
    const { port } = sidecar.discovery;
    await sidecar.discovery.close();
    sidecar.start({ discoveryAddress: `127.0.0.1:${port}` });
    await eventually('discovery is what is missing', async () => {
      const answer = await fetch(`http://127.0.0.1:${sidecar.ports.status}/healthz/ready`);
      expect(answer.status).to.equal(503);
      return (await answer.text()) === 'no clusters were received from discovery yet\n' || undefined;
    });
    await sidecar.discovery.listen(port);
    await sidecar.ready();
  });

  it('waits for a certificate authority that is down at first', async () => {
    const { port } = sidecar.authority;
    await sidecar.authority.close();
    sidecar.start({ caAddress: `127.0.0.1:${port}` });
    await eventually('it says so', () => sidecar.output.includes('no certificate yet: the request failed') || undefined);
    expect(await sidecar.readiness()).to.equal(503);
    await sidecar.authority.listen(port);
    await sidecar.ready();
    expect((await (await peer()).get('/')).body).to.equal('ok');
  });

  it('waits for root certificates that come later', async () => {
    await writeFile(sidecar.rootFile, '');
    sidecar.start();
    await eventually('it says so', () => sidecar.output.includes('waiting for the root certificates') || undefined);
    await writeFile(sidecar.rootFile, sidecar.root.pem);
    await sidecar.ready();
  });

  it('rotates the certificate without dropping a connection', async () => {
    sidecar.authority.ttl = seconds(6);
    sidecar.start();
    await sidecar.ready();
    await writeFile(sidecar.tokenFile, 'second-token');
    const kept = await peer(true);
    const fresh = await peer();
    const first = await kept.get('/');
    const renewed = await eventually('a new certificate is served', async () => {
      expect((await kept.get('/')).localPort).to.equal(first.localPort);
      const now = await fresh.get('/');
      return now.serial === first.serial ? undefined : now;
    });
    const last = await kept.get('/');
    expect(renewed.body).to.equal('ok');
    expect([last.localPort, last.body]).to.deep.equal([first.localPort, 'ok']);
    // The renewal before may have been under way with the token before.
    await eventually('the new token is shown', () => sidecar.authority.tokens.includes('Bearer second-token') || undefined);
  });

  it('takes a further root while it serves', async () => {
    sidecar.start();
    await sidecar.ready();
    const next = await TestRoot.create();
    sidecar.authority.signer = next;
    await writeFile(sidecar.rootFile, sidecar.root.pem + next.pem);
    const both = await peer(false, sidecar.root.pem + next.pem);
    await eventually(
      'both roots are known',
      () => sidecar.output.split('the root certificates were read').length > 2 || undefined,
    );
    expect((await both.get('/')).body).to.equal('ok');
  });

  it('refuses a certificate of another root, and of another identity', async () => {
    sidecar.authority.signer = await TestRoot.create();
    sidecar.start();
    await eventually('it refuses the root', () => /must not be used/.test(sidecar.output) || undefined);
    sidecar.authority.signer = sidecar.root;
    sidecar.authority.spiffeId = 'spiffe://cluster.local/ns/bar/sa/web';
    await eventually(
      'it refuses the name',
      () => sidecar.output.includes('the certificate names spiffe://cluster.local/ns/bar/sa/web') || undefined,
    );
    expect(await sidecar.readiness()).to.equal(503);
  });

  it('starts a killed proxy again, and traffic resumes', async () => {
    sidecar.start();
    await sidecar.ready();
    const [first = 0] = sidecar.proxyPids();
    process.kill(first, 'SIGKILL');
    const second = await eventually('another proxy runs', () => sidecar.proxyPids()[1]);
    expect(second).not.to.equal(first);
    await sidecar.ready();
    expect((await (await peer()).get('/')).body).to.equal('ok');
  });

  it('ends no request that is running when it is told to stop', async () => {
    const agent = sidecar.start({ drainDuration: seconds(20), parentShutdownDuration: seconds(25) });
    await sidecar.ready();
    const slow = (await peer()).get('/slow');
    await sidecar.slowArrived.promise;
    agent.kill('SIGTERM');
    await eventually('it is not ready any more', async () => (await sidecar.readiness()) === 503 || undefined);
    let drainingAnswers = 0;
    await eventually('it drains for a while', async () => {
      const answer = await fetch(`http://127.0.0.1:${sidecar.ports.admin}/server_info`);
      if ((await answer.text()).includes('"DRAINING"')) drainingAnswers += 1;
      return drainingAnswers >= 10 || undefined;
    });
    sidecar.finishSlow();
    const answer = await slow;
    expect([answer.body, answer.closes]).to.deep.equal(['finished', true]);
    expect(await sidecar.exited()).to.equal(0);
    expect(sidecar.proxyPids().some(isRunning)).to.equal(false);
  });

  it('does not wait longer than the drain time', async () => {
    const agent = sidecar.start({ drainDuration: seconds(1), parentShutdownDuration: seconds(2) });
    await sidecar.ready();
    const slow = (await peer()).get('/slow').then(
      () => 'answered',
      () => 'cut',
    );
    await sidecar.slowArrived.promise;
    agent.kill('SIGTERM');
    expect(await sidecar.exited()).to.equal(0);
    expect(await slow).to.equal('cut');
  });

  it('leaves no proxy behind when it is killed', async () => {
    const agent = sidecar.start();
    await sidecar.ready();
    agent.kill('SIGKILL');
    await sidecar.exited();
    await eventually('the proxy is gone', () => !sidecar.proxyPids().some(isRunning) || undefined);
  });

  it('names a binary that is missing', async () => {
    sidecar.start({ binaryPath: '/nowhere/envoy' });
    expect(await sidecar.exited()).to.equal(1);
    expect(sidecar.output).to.contain('the proxy binary /nowhere/envoy (--binaryPath) does not exist');
  });

  it('tells why a proxy refuses its configuration, with its exit code', async () => {
    const binary = join(sidecar.folder, 'refusing');
    await writeFile(binary, '#!/bin/sh\necho "[2026-01-01][1][critical] unknown field" >&2\nexit 4\n');
    await chmod(binary, 0o755);
    sidecar.start({ binaryPath: binary });
    expect(await sidecar.exited()).to.equal(4);
    expect(sidecar.output).to.match(/refuses its configuration .*envoy-rev0.json: unknown field/);
  });

  it('says which of its own ports is taken', async () => {
    sidecar.start({ statusPort: sidecar.discovery.port });
    expect(await sidecar.exited()).to.equal(1);
    expect(sidecar.output).to.contain(`:${sidecar.discovery.port}: the address is in use`);
  });
});

describe('bootstrap configuration and the real proxy', function () {
  this.timeout(120_000);

  for (const name of ['name', 'address', 'rest', 'mutual-tls', 'rest-mutual-tls', 'statsd']) {
    it(`go together for ${name}, without deprecated fields`, async () => {
      const file = fileURLToPath(new URL(`../golden/pilot-agent/bootstrap-${name}.json`, import.meta.url));
      const { stdout, stderr } = await promisify(execFile)(envoyPath(process.env), ['--mode', 'validate', '--config-path', file]);
      expect(stdout).to.contain('OK');
      expect(stderr).not.to.contain('Deprecated');
    });
  }
});
