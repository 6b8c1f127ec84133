/** Each flag of pilot-discovery does what its summary says. */
import { linkSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseCommandLine } from '../../src/flags/parse.ts';
import { seconds } from '../../src/lib/duration.ts';
import { discoveryFlags } from '../../src/pilot-discovery/flags.ts';
import { pod, policy, service, slice } from '../harness/discovery-manifests.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { manifest } from '../harness/manifest.ts';
import { eventually } from '../harness/sidecar.ts';

type Row = Readonly<Record<string, unknown>>;

describe('flags of pilot-discovery', () => {
  let dir: string;
  let discovery: DiscoveryProcess | undefined;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    manifest(dir, 'mesh.yaml', service(), slice(), pod());
  });

  afterEach(async () => {
    await discovery?.stop();
    discovery = undefined;
    rmSync(dir, { recursive: true, force: true });
  });

  const start = async (options: Readonly<Record<string, unknown>> = {}, env: Readonly<Record<string, string>> = {}) => {
    discovery = await DiscoveryProcess.start({ orchconfig: dir, ...options }, undefined, env);
    return discovery;
  };
  const page = async <T>(path: string): Promise<T> => (await discovery?.page(path))?.json() as Promise<T>;
  const hosts = async () => (await page<Row[]>('/debug/registryz')).map(({ hostname }) => hostname);
  const policies = async () => Object.keys((await page<{ objects: Row }>('/debug/snapshotz')).objects);
  const mesh = async () => (await page<{ mesh: Row }>('/debug/snapshotz')).mesh;
  const meshMap = (text: string, namespace = 'mesh-system') => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'mesh', namespace },
    data: { mesh: text },
  });

  it('--domain is the suffix of service names', async () => {
    await start({ domain: 'example.test' });
    expect(await hosts()).to.deep.equal(['httpbin.foo.svc.example.test']);
  });

  it('--appNamespace leaves services and policies of other namespaces out, not the policy of the mesh', async () => {
    const whole = { apiVersion: 'authentication.mesh.io/v1alpha1', kind: 'MeshPolicy', metadata: { name: 'default' }, spec: {} };
    manifest(dir, 'bar.yaml', service('other', '10.96.0.2', 'bar'), policy('p', {}, 'bar'), policy('p', {}, 'foo'), whole);
    await start({ appNamespace: 'bar' });
    expect(await hosts()).to.deep.equal(['other.bar.svc.cluster.local']);
    expect(await policies()).to.have.members(['Policy bar/p', 'MeshPolicy default']);
  });

  it('--namespace says where the mesh configuration is, POD_NAMESPACE when it is not given', async () => {
    manifest(dir, 'config.yaml', meshMap('trustDomain: one', 'ns-one'), meshMap('trustDomain: two', 'ns-two'));
    await start({ namespace: 'ns-one' }, { POD_NAMESPACE: 'ns-two' });
    expect(await mesh()).to.include({ trustDomain: 'one', rootNamespace: 'ns-one' });
    await discovery?.stop();
    await start({}, { POD_NAMESPACE: 'ns-two' });
    expect(await mesh()).to.include({ trustDomain: 'two' });
  });

  it('--configDir is where policies are, and services too when there is no other store', async () => {
    const configDir = mkdtempSync(join(tmpdir(), 'mesh-config-'));
    manifest(dir, 'policy.yaml', policy('elsewhere'));
    manifest(configDir, 'policy.yaml', policy('here'));
    await start({ configDir });
    expect([await policies(), await hosts()]).to.deep.equal([['Policy foo/here'], ['httpbin.foo.svc.cluster.local']]);
    manifest(configDir, 'policy.yaml', policy('changed'));
    await eventually('the change is followed', async () => (await policies()).includes('Policy foo/changed'));
    await discovery?.stop();
    manifest(configDir, 'service.yaml', service('alone'));
    await start({ orchconfig: '', configDir });
    expect(await hosts()).to.deep.equal(['alone.foo.svc.cluster.local']);
    rmSync(configDir, { recursive: true });
  });

  it('--meshConfig is followed, and a bad one leaves the last good one in force', async () => {
    const meshConfig = join(dir, 'mesh-config');
    writeFileSync(meshConfig, 'trustDomain: one\n');
    await start({ meshConfig });
    expect(await mesh()).to.include({ trustDomain: 'one' });
    writeFileSync(meshConfig, 'trustDomain: two\n');
    await eventually('the change is followed', async () => (await mesh())['trustDomain'] === 'two');
    writeFileSync(meshConfig, 'trustDomain: [\n');
    await discovery?.logged('mesh configuration refused');
    const [problem] = (await page<{ problems: { message: string }[] }>('/debug/snapshotz')).problems;
    expect(problem?.message).to.include(meshConfig);
    expect(await mesh()).to.include({ trustDomain: 'two' });
  });

  it('without --meshConfig and without a ConfigMap the mesh is the default one, until there is a ConfigMap', async () => {
    await start();
    expect(await mesh()).to.include({ trustDomain: 'cluster.local', authPolicy: 'NONE', rootNamespace: 'mesh-system' });
    manifest(dir, 'config.yaml', meshMap('trustDomain: mine'));
    await eventually('the ConfigMap is in force', async () => (await mesh())['trustDomain'] === 'mine');
  });

  it('--resync looks again at what no notice came of', async () => {
    await start({ resync: seconds(0.1) });
    const [inside, outside] = [join(dir, 'linked.yaml'), join(tmpdir(), `mesh-linked-${process.pid}.yaml`)];
    writeFileSync(outside, JSON.stringify(service('first', '10.96.0.2')));
    linkSync(outside, inside);
    await eventually('the file is read', async () => (await hosts()).length === 2);
    // A directory is told of changes below the names in it, and this is another name of the file.
    writeFileSync(outside, JSON.stringify(service('second', '10.96.0.2')));
    await eventually('the change is seen', async () => (await hosts()).includes('second.foo.svc.cluster.local'));
    rmSync(outside);
  });

  it('--port 0 and --monitoringPort 0 take free ports and say which', async () => {
    await start({ port: 0, monitoringPort: 0, grpcAddr: '127.0.0.1:0' });
    const [, http, monitoring] = /http=(\d+) monitoring=(\d+)/.exec(discovery?.log ?? '') ?? [];
    const statuses = [`${http}/ready`, `${monitoring}/metrics`].map(async (at) => (await fetch(`http://127.0.0.1:${at}`)).status);
    expect(await Promise.all(statuses)).to.deep.equal([200, 200]);
  });

  const wrong: readonly (readonly [line: string, said: string])[] = [
    ['--port 70000', '--port'],
    ['--port x', '--port'],
    ['--monitoringPort -1', '--monitoringPort'],
    ['--resync never', '--resync'],
    ['--resync 0', '--resync: 0s is not between'],
    ['--resync -5s', '--resync'],
    ['--resync 10000h', '--resync'],
    ['--grpcAddr nowhere', '--grpcAddr'],
    ['--domain A_b', '--domain'],
    ['--domain=', '--domain'],
    ['--namespace a.b', '--namespace'],
    ['--appNamespace=-a', '--appNamespace'],
    ['--registries Consul', 'Consul'],
    ['--registries Nomad', 'Nomad'],
    ['--discovery_cache=maybe', '--discovery_cache'],
    ['--orchconfig /nowhere', '/nowhere'],
    ['--configDir /nowhere', '/nowhere'],
    ['--meshConfig /nowhere', '/nowhere'],
    ['--webhookEndpoint ftp://x', '--webhookEndpoint'],
  ];
  for (const [line, said] of wrong) {
    it(`refuses ${line} in one line`, async () => {
      const parsed = parseCommandLine(discoveryFlags, [], line.split(' '), {});
      const message = parsed.ok
        ? await failure(parsed.value)
        : parsed.problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
      expect(message).to.include(said).and.not.include('\n');
    });
  }

  async function failure(request: unknown): Promise<string> {
    const { invocation } = request as { invocation: { options: Row; given: ReadonlySet<string> } };
    const given = Object.fromEntries(Object.entries(invocation.options).filter(([name]) => invocation.given.has(name)));
    return start(given).then(
      () => 'it started',
      (error: Error) => error.message,
    );
  }
});
