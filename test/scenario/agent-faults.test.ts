import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { seconds } from '../../src/lib/duration.ts';
import { Peer } from '../harness/peer.ts';
import { plainBootstrap } from '../harness/plain-bootstrap.ts';
import { eventually, isRunning, Sidecar } from '../harness/sidecar.ts';

describe('faults around a sidecar', function () {
  this.timeout(120_000);
  let sidecar: Sidecar;

  beforeEach(async () => {
    sidecar = await Sidecar.prepare();
  });
  afterEach(() => sidecar.stop());

  const proxyFolder = (): string => join(sidecar.folder, 'proxy');
  const said = (text: string): Promise<unknown> =>
    eventually(`it says: ${text}`, () => sidecar.output.includes(text) || undefined);
  const started = (): Promise<number> => eventually('a proxy was started', () => sidecar.proxyPids()[0]);
  const gone = (): Promise<unknown> => eventually('no proxy runs', () => !sidecar.proxyPids().some(isRunning) || undefined);
  const servedVersion = (): Promise<string> =>
    new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port: sidecar.ports.inbound, path: '/', agent: false }, (response) =>
        resolve(String(response.resume().headers['x-configuration'])),
      ).on('error', reject);
    });
  /** Gives the folder of generated configuration a disk of its own, in a mount namespace that ends with the agent. */
  const onSmallDisk = async (bytes: number): Promise<readonly string[]> => {
    await mkdir(proxyFolder());
    return ['unshare', '--mount', 'sh', '-c', `mount -t tmpfs -o size=${bytes} none "$0" && exec "$@"`, proxyFolder()];
  };

  describe('a full disk', () => {
    it('is named when the agent cannot even begin', async () => {
      sidecar.start({}, {}, await onSmallDisk(4096));
      expect(await sidecar.exited()).to.equal(1);
      expect(sidecar.output).to.match(/cannot write .*envoy-rev0\.json \(--configPath\): the disk is full/);
    });

    it('leaves the last good configuration in force, until there is room again', async () => {
      const file = join(sidecar.folder, 'custom.json');
      const configure = (version: string): Promise<void> => {
        const { inbound, admin } = sidecar.ports;
        const settings = { version, port: inbound, adminPort: admin, upstreamPort: sidecar.applicationPort };
        return writeFile(file, plainBootstrap(settings));
      };
      await configure('one');
      const agent = sidecar.start({ customConfigFile: file }, {}, await onSmallDisk(64 * 1024));
      await eventually('it serves', async () => (await servedVersion()) === 'one' || undefined);
      const disk = `/proc/${agent.pid}/root${proxyFolder()}`;
      await writeFile(join(disk, 'fill'), Buffer.alloc(64 * 1024)).catch(() => {});
      await configure('two');
      await said('the disk is full');
      expect(await servedVersion()).to.equal('one');
      expect(await readFile(join(disk, 'envoy-rev0.json'), 'utf8')).to.contain('"one"');
      await rm(join(disk, 'fill'));
      await eventually('the new one is served', async () => (await servedVersion()) === 'two' || undefined);
    });
  });

  describe('a port that is taken', () => {
    it('is named, and the proxy is there once it is free', async () => {
      const other = createServer().listen(sidecar.ports.admin, '127.0.0.1');
      await once(other, 'listening');
      sidecar.start();
      await said(`port ${sidecar.ports.admin} (--proxyAdminPort) is taken by another program`);
      await said('"inMs":1600');
      other.close();
      await sidecar.ready();
    });
  });

  describe('a certificate authority that never answers', () => {
    it('holds up neither the proxy nor the end', async () => {
      sidecar.authority.silent = true;
      const agent = sidecar.start();
      await eventually('it was asked', () => sidecar.authority.tokens[0]);
      await started();
      const answer = await eventually('discovery is served', () => sidecar.discovery.nodes[0]);
      expect(answer).to.match(/^sidecar~/);
      expect(await sidecar.readiness()).to.equal(503);
      agent.kill('SIGTERM');
      expect(await sidecar.exited()).to.equal(0);
      await gone();
    });

    it('does not take from a workload the certificate that it has', async () => {
      sidecar.authority.ttl = seconds(16);
      sidecar.start();
      await sidecar.ready();
      const asked = sidecar.authority.tokens.length;
      sidecar.authority.silent = true;
      await eventually('it was asked again', () => sidecar.authority.tokens.length > asked || undefined);
      const peer = await Peer.create(sidecar, false);
      expect((await peer.get('/')).body).to.equal('ok');
      peer.close();
      expect(await sidecar.readiness()).to.equal(200);
    });
  });

  describe('SIGTERM', () => {
    it('before the proxy was started ends the agent', async () => {
      const agent = sidecar.start();
      await eventually('it listens', () => sidecar.output.includes('the certificate authority is asked') || undefined);
      agent.kill('SIGTERM');
      expect(await sidecar.exited()).to.equal(0);
      await gone();
    });

    it('to a proxy that has only just been started ends both', async () => {
      const agent = sidecar.start();
      await started();
      agent.kill('SIGTERM');
      expect(await sidecar.exited()).to.equal(0);
      await gone();
    });

    it('while a restart is waited for ends the wait', async () => {
      const agent = sidecar.start();
      await sidecar.ready();
      for (let kill = 0; kill < 6; kill += 1) {
        const pid = await eventually('a further proxy runs', () => sidecar.proxyPids()[kill]);
        process.kill(pid, 'SIGKILL');
      }
      await said('"inMs":6400');
      agent.kill('SIGTERM');
      expect(await sidecar.exited()).to.equal(0);
      await gone();
    });

    it('twice ends everything at once', async () => {
      const agent = sidecar.start({ drainDuration: seconds(50), parentShutdownDuration: seconds(55) });
      await sidecar.ready();
      const peer = await Peer.create(sidecar, false);
      const slow = peer.get('/slow').then(
        () => 'answered',
        () => 'cut',
      );
      await sidecar.slowArrived.promise;
      agent.kill('SIGTERM');
      await said('draining the proxy');
      await eventually('a second signal is taken for one', async () => {
        agent.kill('SIGTERM');
        return agent.exitCode !== null || agent.signalCode !== null || undefined;
      });
      expect(await sidecar.exited()).to.equal(143);
      await gone();
      expect(await slow).to.equal('cut');
      peer.close();
    });
  });
});
