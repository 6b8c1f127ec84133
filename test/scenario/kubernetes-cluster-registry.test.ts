import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { kinds } from '../contract/object-store.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { installOpenKinds } from '../harness/cluster-kinds.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { freePort } from '../harness/free-port.ts';
import { PlainEnvoy } from '../harness/plain-envoy.ts';
import { eventually } from '../harness/sidecar.ts';

const NAMESPACE = 'registry';

const node = (name: string, zone: string): string => `
apiVersion: v1
kind: Node
metadata: {name: ${name}, labels: {topology.kubernetes.io/region: east, topology.kubernetes.io/zone: ${zone}}}
`;

const pod = (name: string, app: string, nodeName: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: ${NAMESPACE}, labels: {app: ${app}}}
spec:
  nodeName: ${nodeName}
  terminationGracePeriodSeconds: 600
  containers: [{name: app, image: app, ports: [{name: web, containerPort: 8080}]}]
`;

const MANIFESTS = [
  node('registry-a', 'east-a'),
  node('registry-b', 'east-b'),
  pod('web-1', 'web', 'registry-a'),
  pod('web-2', 'web', 'registry-b'),
  pod('db-0', 'db', 'registry-a'),
  `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ${NAMESPACE}}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: web}]}
`,
  `
apiVersion: v1
kind: Service
metadata: {name: db, namespace: ${NAMESPACE}}
spec: {clusterIP: None, selector: {app: db}, ports: [{name: tcp, port: 8080, targetPort: web}]}
`,
  `
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: ${NAMESPACE}}
spec: {type: ExternalName, externalName: localhost, ports: [{name: http, port: 80}]}
`,
].join('---');

/** The controllers of Kubernetes make the EndpointSlices; the test does what a kubelet would. */
describe('the registry of a real API server', function () {
  this.timeout(120_000);
  let cluster: TestCluster;
  let root: string;
  let discovery: DiscoveryProcess;
  let envoy: PlainEnvoy;

  before(async function () {
    cluster = await requireCluster(this);
    await installOpenKinds(cluster, kinds);
    root = await mkdtemp(join(tmpdir(), 'mesh-registry-'));
    cluster.kubectl(['create', 'namespace', NAMESPACE]);
    await eventually('the account of pods', () => cluster.kubectl(['get', 'serviceaccount', 'default', '-n', NAMESPACE]));
    cluster.kubectl(['apply', '-f', '-'], MANIFESTS);
    for (const [name, ip] of [
      ['web-1', '10.9.0.1'],
      ['web-2', '10.9.0.2'],
      ['db-0', '10.9.0.3'],
    ] as const)
      setStatus(name, ip, true);
    const meshConfig = join(root, 'mesh.yaml');
    await writeFile(meshConfig, `proxyListenPort: ${await freePort()}\nproxyInboundListenPort: ${await freePort()}\n`);
    discovery = await DiscoveryProcess.start({ orchconfig: cluster.kubeconfig, meshConfig });
    envoy = await PlainEnvoy.start(discovery.ports.grpc, 'DELTA_GRPC');
  });
  after(async () => {
    await envoy?.stop();
    await discovery?.stop();
    if (root !== undefined) await rm(root, { recursive: true, force: true });
    cluster?.kubectl(['delete', 'pods', '--all', '-n', NAMESPACE, '--force', '--grace-period=0']);
    cluster?.kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
    cluster?.kubectl(['delete', 'node', 'registry-a', 'registry-b']);
  });

  function setStatus(name: string, podIP: string, ready: boolean): void {
    const condition = { type: 'Ready', status: ready ? 'True' : 'False' };
    const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions: [condition] };
    cluster.kubectl([
      'patch',
      'pod',
      name,
      '-n',
      NAMESPACE,
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    ]);
  }

  /** `address:port zone` of the hosts that Envoy has for a cluster. */
  async function hosts(service: string, port: number): Promise<readonly string[]> {
    const name = `outbound|${port}||${service}.${NAMESPACE}.svc.cluster.local::`;
    const lines = (await envoy.admin('/clusters')).split('\n').filter((line) => line.startsWith(name));
    const zones = lines.flatMap((line) => {
      const [address, field, value] = line.slice(name.length).split('::');
      return field === 'zone' ? [`${address} ${value}`.trim()] : [];
    });
    return zones.sort();
  }

  async function becomes(service: string, port: number, expected: readonly string[]): Promise<void> {
    const same = async () => JSON.stringify(await hosts(service, port)) === JSON.stringify(expected);
    await eventually(`${service}: ${expected.join(', ')}`, same).catch(async (error: unknown) => {
      expect(await hosts(service, port), String(error)).to.deep.equal(expected);
    });
  }

  it('reaches Envoy, with the zones that nodes are in', async () => {
    await becomes('web', 80, ['10.9.0.1:8080 east-a', '10.9.0.2:8080 east-b']);
    expect(await envoy.admin('/clusters')).to.match(/outbound\|80\|\|web\.registry.*::10\.9\.0\.1:8080::region::east\n/);
  });

  it('gives a headless service its pods, and each a listener', async () => {
    await becomes('db', 8080, ['10.9.0.3:8080 east-a']);
    const isThere = async () => (await envoy.admin('/config_dump?resource=dynamic_listeners')).includes('"10.9.0.3_8080"');
    await eventually('the listener of the pod', isThere);
  });

  it('looks an external name up in DNS', async () => {
    const found = await eventually('an address', async () => (await hosts('outside', 80))[0]);
    expect(found).to.match(/^(127\.0\.0\.1|\[::1\]):80$/);
  });

  it('takes pods that are not ready out, and keeps those on their way out while there is no other', async () => {
    setStatus('web-2', '10.9.0.2', false);
    await becomes('web', 80, ['10.9.0.1:8080 east-a']);
    cluster.kubectl(['delete', 'pod', 'web-1', '-n', NAMESPACE, '--wait=false']);
    await eventually('the slice says so', () =>
      cluster.kubectl(['get', 'endpointslices', '-n', NAMESPACE, '-o', 'yaml']).includes('terminating: true'),
    );
    await becomes('web', 80, ['10.9.0.1:8080 east-a']);
    setStatus('web-2', '10.9.0.2', true);
    await becomes('web', 80, ['10.9.0.2:8080 east-b']);
  });
});
