import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import { seconds } from '../../src/lib/duration.ts';
import { plainBootstrap } from '../harness/plain-bootstrap.ts';
import { eventually, isRunning, Sidecar } from '../harness/sidecar.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly version: string;
}

function ask(port: number, path: string, agent?: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, agent: agent ?? false }, (response) => {
      let body = '';
      response.on('data', (chunk) => (body += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body, version: String(response.headers['x-configuration'] ?? '') }),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}

describe('hot restart of a real proxy', function () {
  this.timeout(120_000);
  let sidecar: Sidecar;
  let file: string;

  beforeEach(async () => {
    sidecar = await Sidecar.prepare();
    file = join(sidecar.folder, 'custom.json');
  });
  afterEach(() => sidecar.stop());

  /** Replaces the file whole, as editors and volumes do. */
  const configure = async (version: string, change: (text: string) => string = (text) => text): Promise<void> => {
    const { inbound, admin } = sidecar.ports;
    const text = plainBootstrap({ version, port: inbound, adminPort: admin, upstreamPort: sidecar.applicationPort });
    await writeFile(`${file}.new`, change(text));
    await rename(`${file}.new`, file);
  };
  const version = async (): Promise<string> => (await ask(sidecar.ports.inbound, '/')).version;
  const serves = (wanted: string): Promise<unknown> =>
    eventually(`${wanted} is in force`, async () => (await version()) === wanted || undefined);
  const sharedMemory = async (): Promise<readonly string[]> => {
    const baseId = await readFile(join(sidecar.folder, 'proxy', 'envoy-base-id'), 'utf8');
    return (await readdir('/dev/shm')).filter((name) => name === `envoy_shared_memory_${baseId.trim()}0`);
  };

  it('moves on to a changed configuration without losing a request', async () => {
    await configure('one');
    sidecar.start({ customConfigFile: file, drainDuration: seconds(2), parentShutdownDuration: seconds(10) });
    await serves('one');
    const keptAlive = new Agent({ keepAlive: true, maxSockets: 4 });
    const stop = new AbortController();
    const versions = new Set<string>();
    const failures: unknown[] = [];
    const caller = async (agent?: Agent): Promise<void> => {
      while (!stop.signal.aborted) {
        await ask(sidecar.ports.inbound, '/', agent).then(
          ({ status, version }) => (status === 200 ? versions.add(version) : failures.push(status)),
          (error) => failures.push(error),
        );
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    const callers = [caller(), caller(), caller(keptAlive), caller(keptAlive)];
    const long = ask(sidecar.ports.inbound, '/slow');
    await sidecar.slowArrived.promise;
    await configure('two');
    await serves('two');
    const [first = 0, second = 0] = sidecar.proxyPids();
    expect([isRunning(first), isRunning(second)]).to.deep.equal([true, true]);
    sidecar.finishSlow();
    expect(await long).to.include({ status: 200, body: 'finished', version: 'one' });
    await eventually('the proxy of before is gone', () => !isRunning(first) || undefined);
    expect(isRunning(second)).to.equal(true);
    stop.abort();
    await Promise.all(callers);
    keptAlive.destroy();
    expect(failures).to.deep.equal([]);
    expect([...versions]).to.deep.equal(['one', 'two']);
    await eventually('only the file of now is left', async () => {
      const names = await readdir(join(sidecar.folder, 'proxy'));
      return names.filter((name) => name.startsWith('envoy-rev')).join() === 'envoy-rev1.json' || undefined;
    });
  });

  it('takes a burst of changes for one, and leaves nothing in shared memory', async () => {
    await configure('one');
    const agent = sidecar.start({ customConfigFile: file, parentShutdownDuration: seconds(1), drainDuration: seconds(1) });
    await serves('one');
    expect(await sharedMemory()).to.have.length(1);
    for (const each of ['two', 'three', 'four', 'five']) await configure(each);
    await serves('five');
    expect(sidecar.proxyPids().length).to.be.lessThan(5);
    const [segment = ''] = await sharedMemory();
    agent.kill('SIGTERM');
    expect(await sidecar.exited()).to.equal(0);
    expect(sidecar.proxyPids().some(isRunning)).to.equal(false);
    expect(await readdir('/dev/shm')).not.to.include(segment);
  });

  it('goes on with the configuration before when the new one is wrong, and says where', async () => {
    await configure('one');
    sidecar.start({ customConfigFile: file });
    await serves('one');
    await configure('two', (text) => text.replace('{', '{\n  "admin": ['));
    await eventually('it names the line', () => /custom\.json:\d+: not valid YAML/.test(sidecar.output) || undefined);
    await configure('two', (text) => text.replace('"domains"', '"domain"'));
    await eventually(
      'it passes on what the proxy says',
      () => /refuses its configuration .*domain/.test(sidecar.output) || undefined,
    );
    expect(await version()).to.equal('one');
    expect(sidecar.proxyPids()).to.have.length(1);
    await configure('three');
    await serves('three');
  });

  it('ends every proxy when it is told to stop in the middle of a hand-over', async () => {
    await configure('one');
    const agent = sidecar.start({ customConfigFile: file, drainDuration: seconds(1), parentShutdownDuration: seconds(30) });
    await serves('one');
    await configure('two');
    await eventually('two proxies run', () => sidecar.proxyPids()[1]);
    agent.kill('SIGTERM');
    expect(await sidecar.exited()).to.equal(0);
    expect(sidecar.proxyPids().map(isRunning)).to.deep.equal([false, false]);
  });

  it('starts a killed proxy again with the configuration of now', async () => {
    await configure('one');
    sidecar.start({ customConfigFile: file, drainDuration: seconds(1), parentShutdownDuration: seconds(1) });
    await serves('one');
    await configure('two');
    await serves('two');
    const [first = 0, second = 0] = sidecar.proxyPids();
    await eventually('the proxy of before is gone', () => !isRunning(first) || undefined);
    process.kill(second, 'SIGKILL');
    await eventually(
      'a third proxy serves',
      async () => (sidecar.proxyPids()[2] !== undefined && (await version()) === 'two') || undefined,
    );
  });

  it('is ready with a configuration that asks no discovery', async () => {
    await configure('one');
    sidecar.start({ customConfigFile: file });
    await sidecar.ready();
    expect(await version()).to.equal('one');
  });

  it('drains one proxy before the next where there is no shared memory', async () => {
    await configure('one');
    const withoutSharedMemory = ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs -o ro none /dev/shm && exec "$0" "$@"'];
    sidecar.start({ customConfigFile: file, drainDuration: seconds(1) }, {}, withoutSharedMemory);
    await serves('one');
    await configure('two');
    await serves('two');
    const [first = 0, second = 0] = sidecar.proxyPids();
    expect([isRunning(first), isRunning(second)]).to.deep.equal([false, true]);
    expect(sidecar.output).to.contain('/dev/shm cannot be written to');
  });

  it('ends at once when it is told to stop while the configuration is checked', async () => {
    await configure('one');
    const slow = join(sidecar.folder, 'slow-envoy');
    await writeFile(slow, `#!/bin/sh\necho checking\nexec sleep 60\n`, { mode: 0o755 });
    const agent = sidecar.start({ customConfigFile: file, binaryPath: slow });
    await eventually(
      'it is checked',
      async () => (await readdir(join(sidecar.folder, 'proxy'))).includes('candidate.json') || undefined,
    );
    agent.kill('SIGTERM');
    expect(await sidecar.exited()).to.equal(0);
  });

  it('removes what an agent that was killed has left', async () => {
    await configure('one');
    const agent = sidecar.start({ customConfigFile: file, drainDuration: seconds(1), parentShutdownDuration: seconds(1) });
    await serves('one');
    await configure('two');
    await serves('two');
    const [segment = ''] = await sharedMemory();
    agent.kill('SIGKILL');
    await sidecar.exited();
    await eventually('its proxies are gone', () => !sidecar.proxyPids().some(isRunning) || undefined);
    expect(await readdir('/dev/shm')).to.include(segment);
    sidecar.start({ customConfigFile: file });
    await serves('two');
    expect(await readdir('/dev/shm')).not.to.include(segment);
    const names = await readdir(join(sidecar.folder, 'proxy'));
    expect(names.filter((name) => name.startsWith('envoy-rev'))).to.deep.equal(['envoy-rev0.json']);
  });

  it('does not meet another agent on the same host', async () => {
    const other = await Sidecar.prepare();
    try {
      const otherFile = join(other.folder, 'custom.json');
      const { inbound, admin } = other.ports;
      const settings = { version: 'other', port: inbound, adminPort: admin, upstreamPort: other.applicationPort };
      await writeFile(otherFile, plainBootstrap(settings));
      await configure('one');
      sidecar.start({ customConfigFile: file });
      other.start({ customConfigFile: otherFile });
      await serves('one');
      await other.ready();
      await configure('two');
      await serves('two');
      expect((await ask(inbound, '/')).version).to.equal('other');
      expect(other.proxyPids().map(isRunning)).to.deep.equal([true]);
    } finally {
      await other.stop();
    }
  });

  it('renders a template, and says which line of it is wrong', async () => {
    const template = join(sidecar.folder, 'bootstrap.yaml');
    const { inbound, admin } = sidecar.ports;
    const text = plainBootstrap({ version: 'one', port: inbound, adminPort: admin, upstreamPort: sidecar.applicationPort });
    await writeFile(template, text.replace('"one"', '"{{ node.metadata.GREETING }}, {{ pod.namespace }}"'));
    sidecar.start({ templateFile: template }, { MESH_META_GREETING: 'say "hi"' });
    await serves('say "hi", foo');
    await writeFile(template, text.replace('"one"', '"{{ node.nothing }}"'));
    await eventually(
      'it names the line',
      () => /bootstrap\.yaml:\d+: .*undefined variable: node.nothing/.test(sidecar.output) || undefined,
    );
    expect(await version()).to.equal('say "hi", foo');
  });

  for (const [what, prepare, expected] of [
    ['is not there', async () => {}, /custom\.json \(--customConfigFile\) does not exist/],
    ['is not JSON or YAML', (path: string) => writeFile(path, '{"admin": }\n]'), /custom\.json:2: not valid YAML/],
    ['is no object', (path: string) => writeFile(path, '[]'), /custom\.json is not one YAML or JSON object/],
    [
      'is refused by the proxy',
      (path: string) => writeFile(path, '{"admins": {}}'),
      /refuses its configuration .*custom\.json: .*admins/,
    ],
  ] as const) {
    it(`does not start with a file that ${what}`, async () => {
      await prepare(file);
      sidecar.start({ customConfigFile: file });
      expect(await sidecar.exited()).to.equal(1);
      expect(sidecar.output).to.match(expected);
    });
  }
});
