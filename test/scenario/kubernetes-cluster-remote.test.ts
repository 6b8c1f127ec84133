import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { kinds } from '../contract/object-store.ts';
import { ownCluster, requireCluster, type TestCluster } from '../harness/cluster.ts';
import { installOpenKinds } from '../harness/cluster-kinds.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { eventually } from '../harness/sidecar.ts';

const NAMESPACE = 'several';
const CLUSTERS = 'mesh-clusters';
const PATIENCE_MS = 120_000;

const service = (name: string, addresses: readonly string[]): string =>
  [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: NAMESPACE },
      spec: { ports: [{ name: 'http', port: 80 }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${name}-1`, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080 }],
      endpoints: addresses.map((address) => ({ addresses: [address] })),
    },
  ]
    .map((object) => JSON.stringify(object))
    .join('\n---\n');

const entry = (secret: string): string => `
apiVersion: clusterregistry.k8s.io/v1alpha1
kind: Cluster
metadata:
  name: west
  annotations:
    config.mesh.io/platform: Kubernetes
    config.mesh.io/accessConfigSecret: ${secret}
    config.mesh.io/accessConfigSecretNamespace: ${NAMESPACE}
`;

interface ClusterState {
  readonly state: string;
  readonly problems: readonly string[];
}

describe('a mesh of two clusters', function () {
  this.timeout(240_000);
  let here: TestCluster;
  let west: TestCluster;
  let discovery: DiscoveryProcess;

  before(async function () {
    here = await requireCluster(this);
    await installOpenKinds(here, kinds);
    west = await ownCluster(this);
    for (const cluster of [here, west]) cluster.kubectl(['create', 'namespace', NAMESPACE]);
    here.kubectl(['apply', '-f', '-'], service('web', ['10.1.0.1']));
    west.kubectl(['apply', '-f', '-'], `${service('web', ['10.2.0.1'])}\n---\n${service('only-there', ['10.2.0.9'])}`);
    here.kubectl(['create', 'secret', 'generic', 'west', '-n', NAMESPACE, `--from-file=west=${west.kubeconfig}`]);
    register(entry('west'));
    discovery = await start();
  });
  after(async () => {
    await discovery?.stop();
    west?.stop();
    here?.kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
  });

  function start(): Promise<DiscoveryProcess> {
    const flags = { clusterRegistriesConfigMap: CLUSTERS, clusterRegistriesNamespace: NAMESPACE, appNamespace: NAMESPACE };
    return DiscoveryProcess.start({ orchconfig: here.kubeconfig, ...flags });
  }

  function register(text: string | undefined): void {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: CLUSTERS, namespace: NAMESPACE },
      data: text === undefined ? {} : { west: text },
    };
    here.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }

  async function endpoints(from = discovery): Promise<string> {
    const lines = (await (await from.page('/debug/endpointz?brief=1')).text()).split('\n');
    return lines
      .filter((line) => line !== '')
      .map((line) => line.replace(/^([^.]+)\.\S+ (\S+) - /, '$1 $2 '))
      .join(', ');
  }

  async function become(expected: string): Promise<void> {
    const same = async () => (await endpoints()) === expected;
    await eventually(expected, same, PATIENCE_MS).catch(async (error: unknown) => {
      expect(await endpoints(), String(error)).to.equal(expected);
    });
  }

  async function state(from = discovery): Promise<ClusterState | undefined> {
    const [first] = (await (await from.page('/debug/clusterz')).json()) as readonly ClusterState[];
    return first;
  }

  const isIn = (wanted: string) => eventually(wanted, async () => (await state())?.state === wanted, PATIENCE_MS);

  const BOTH = 'only-there 10.2.0.9:8080 ready, web 10.1.0.1:8080 ready, web 10.2.0.1:8080 ready';

  it('has the endpoints of both', async () => {
    // A start does not wait long for what may be far away.
    await become(BOTH);
    await isIn('followed');
    expect(await (await discovery.page('/debug/clusterz')).json()).to.deep.equal([
      { name: 'west', secret: `${NAMESPACE}/west`, state: 'followed', services: 2, endpoints: 2, problems: [] },
    ]);
    expect(await discovery.metrics()).to.include('pilot_remote_clusters{state="followed"} 1');
  });

  it('follows what changes in the other', async () => {
    west.kubectl(['apply', '-f', '-'], service('web', ['10.2.0.1', '10.2.0.2']));
    await become(`${BOTH}, web 10.2.0.2:8080 ready`);
    west.kubectl(['apply', '-f', '-'], service('web', ['10.2.0.1']));
    await become(BOTH);
  });

  it('keeps the last endpoints of a lost cluster and says so, until it is back', async () => {
    west.killApiServer();
    await isIn('lost');
    expect(await endpoints()).to.equal(BOTH);
    await eventually('it is told why', async () => (await state())?.problems.join().includes('cannot be reached'), PATIENCE_MS);
    expect(discovery.log).to.match(/warn.*remote cluster is lost; its last endpoints stay in force.*west/);
    expect(await discovery.metrics()).to.include('pilot_remote_clusters{state="lost"} 1');
    here.kubectl(['apply', '-f', '-'], service('web', ['10.1.0.1', '10.1.0.2']));
    await become('only-there 10.2.0.9:8080 ready, web 10.1.0.1:8080 ready, web 10.1.0.2:8080 ready, web 10.2.0.1:8080 ready');
    here.kubectl(['apply', '-f', '-'], service('web', ['10.1.0.1']));
    await become(BOTH);
    const other = await start();
    try {
      expect(await endpoints(other), 'a start without it').to.equal('web 10.1.0.1:8080 ready');
      expect(await state(other)).to.include({ state: 'waiting' });
      await west.startApiServer();
      west.kubectl(['apply', '-f', '-'], service('web', ['10.2.0.3']));
      await become(BOTH.replace('10.2.0.1', '10.2.0.3'));
      await isIn('followed');
      await eventually('the other has it too', async () => (await endpoints(other)) === (await endpoints()), PATIENCE_MS);
    } finally {
      await other.stop();
    }
    west.kubectl(['apply', '-f', '-'], service('web', ['10.2.0.1']));
    await become(BOTH);
  });

  it('is left by a cluster whose entry goes, and joined by one whose entry comes', async () => {
    register(undefined);
    await become('web 10.1.0.1:8080 ready');
    expect(await state()).to.equal(undefined);
    register(entry('west'));
    await become(BOTH);
  });

  it('goes on with what it has when an entry or a kubeconfig is spoilt, and runs no programs', async () => {
    register('kind: Cluster');
    await eventually('it is told', async () =>
      (await (await discovery.page('/debug/snapshotz')).text()).includes('data.west.apiVersion'),
    );
    expect(await endpoints()).to.equal(BOTH);
    register(entry('west'));
    const config = JSON.parse(await readFile(west.kubeconfig, 'utf8'));
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: '/bin/touch',
      args: ['/tmp/x'],
      interactiveMode: 'Never',
    };
    config.users[0].user = { exec };
    const patch = { stringData: { west: JSON.stringify(config) } };
    here.kubectl(['patch', 'secret', 'west', '-n', NAMESPACE, '--type=merge', '-p', JSON.stringify(patch)]);
    await isIn('lost');
    expect((await state())?.problems).to.deep.equal([
      'remote cluster west: no usable kubeconfig: exec: programs are not run for a remote cluster; give a token or a certificate',
    ]);
    expect(await endpoints()).to.equal(BOTH);
    const good = { stringData: { west: await readFile(west.kubeconfig, 'utf8') } };
    here.kubectl(['patch', 'secret', 'west', '-n', NAMESPACE, '--type=merge', '-p', JSON.stringify(good)]);
    await isIn('followed');
    here.kubectl(['delete', 'secret', 'west', '-n', NAMESPACE]);
    await isIn('lost');
    expect((await state())?.problems).to.deep.equal([
      `Secret ${NAMESPACE}/west, which is to hold its kubeconfig, does not exist`,
    ]);
    expect(await endpoints()).to.equal(BOTH);
  });
});
