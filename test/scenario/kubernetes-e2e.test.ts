/**
 * All of it together: a real API server with its controllers, a lab as its node, the manifests that `meshctl install` prints, the
 * workloads of the reference scenario, real Envoys, and the faults that a cluster has.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { BackgroundCalls } from '../../src/lab/demo/background-calls.ts';
import { CallRecord } from '../../src/lab/demo/call-record.ts';
import { mintTokens } from '../../src/lab/demo/lab-mesh.ts';
import { isWrong } from '../../src/lab/demo/lines.ts';
import { runScenario } from '../../src/lab/demo/main.ts';
import { PLAIN } from '../../src/lab/demo/paint.ts';
import { renderStep } from '../../src/lab/demo/step-text.ts';
import { REFERENCE_STEPS } from '../../src/lab/demo/steps.ts';
import type { ScenarioResult } from '../../src/lab/demo/walk.ts';
import { ownCluster } from '../harness/cluster.ts';
import { ClusterMesh, HOST } from '../harness/cluster-mesh.ts';

const REFERENCE = fileURLToPath(new URL('../../examples/reference', import.meta.url));
const HTTPBIN_FOO = 'http://httpbin.foo:8000/ip';
const WORKLOADS = ['auth', 'foo', 'bar', 'legacy'];

describe('the mesh on a real cluster', function () {
  this.timeout(400_000);
  let mesh: ClusterMesh;

  before(async function () {
    const cluster = await ownCluster(this);
    this.timeout(400_000);
    mesh = await ClusterMesh.withNode(cluster, '--node-label', 'topology.kubernetes.io/zone=a');
    await mesh.install('--replicas', '1', '--mixs', 'none');
    await mesh.ask('apply', '-f', join(REFERENCE, 'namespaces.yaml'));
    await mesh.ask('apply', '-f', REFERENCE);
    for (const namespace of WORKLOADS) await mesh.rolledOut(namespace);
  });

  after(async function () {
    this.timeout(120_000);
    await mesh?.remove();
  });

  it('injects the pods of labelled namespaces by the webhook, and no others', async () => {
    for (const namespace of ['foo', 'bar']) {
      for (const { name, containers, annotations } of await mesh.pods(namespace)) {
        expect(containers, name).to.include('mesh-proxy');
        expect(annotations, name).to.have.property('sidecar.mesh.io/status');
      }
    }
    for (const { name, containers } of await mesh.pods('legacy')) expect(containers, name).to.have.length(1);
  });

  it('gives every sidecar a certificate of the authority in the cluster, in its service account`s name', async () => {
    const root = await mesh.ask('get', 'configmap', 'mesh-ca-root-cert', '-n', 'foo', '-o', 'jsonpath={.data.root-cert\\.pem}');
    expect(root).to.match(/^-----BEGIN CERTIFICATE-----/);
    for (const workload of ['sleep', 'httpbin', 'other']) {
      const { stdout } = await mesh.node.run('exec', `${workload}.foo`, '--', 'curl', '-s', 'http://127.0.0.1:15000/certs');
      expect(stdout).to.include(`spiffe://cluster.local/ns/foo/sa/${workload}`);
    }
  });

  it('reports the pods to the cluster as a kubelet does', async () => {
    const nodes = JSON.parse(await mesh.ask('get', 'nodes', '-o', 'json')).items;
    expect(nodes.map(({ metadata }: { metadata: { labels: object } }) => metadata.labels)[0]).to.include({
      'topology.kubernetes.io/zone': 'a',
    });
    const [pod] = JSON.parse(await mesh.ask('get', 'pods', '-n', 'foo', '-l', 'app=httpbin', '-o', 'json')).items;
    expect((await mesh.node.run('env')).stdout).to.include(`MESH_ORCHCONFIG=${mesh.cluster.kubeconfig}\n`);
    expect(pod.spec.nodeName).to.equal('lab');
    expect(pod.status.initContainerStatuses[0].state.terminated.reason).to.equal('Completed');
    expect(pod.status.podIP).to.match(/^10\.244\./);
  });

  it('gives the logs of containers to kubectl, as far as they go and while they grow', async () => {
    const logs = (...args: readonly string[]) => mesh.ask('logs', '-n', 'foo', 'deployment/httpbin', '-c', 'mesh-proxy', ...args);
    const [last = ''] = (await logs('--tail=1')).trim().split('\n').slice(-1);
    expect(last).not.to.equal('');
    expect((await logs()).split('\n')).to.have.length.greaterThan(2);
    const container = { name: 'main', image: 'sh', command: ['sh', '-c', 'for i in 1 2 3; do echo line $i; sleep 0.2; done'] };
    const spec = { template: { spec: { restartPolicy: 'Never', containers: [container] } } };
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'printer', namespace: 'foo' }, spec };
    await mesh.ask('apply', '-f', await mesh.node.file('job.json', JSON.stringify(job)));
    let followed = '';
    await mesh.until('the job has begun, and ended', async () => {
      const { code, stdout } = await mesh.kubectl('logs', '-n', 'foo', '-f', 'job/printer', '-c', 'main');
      followed = stdout;
      return code === 0;
    });
    expect(followed).to.equal('line 1\nline 2\nline 3\n');
    await mesh.ask('wait', '-n', 'foo', '--for=condition=complete', 'job/printer', '--timeout=120s');
    await mesh.ask('delete', 'job', 'printer', '-n', 'foo');
  });

  describe('the reference scenario, its policies changed by kubectl and meshctl in turn', () => {
    let result: ScenarioResult;

    before(async () => {
      const quiet = { started: () => {}, doing: () => {}, finished: () => {} };
      result = await runScenario(mesh.lab, REFERENCE_STEPS, HOST, quiet, mesh.policyTool());
    });

    for (const { name, title } of REFERENCE_STEPS) {
      it(`step ${name}: ${title}`, () => {
        const step = result.steps.find(({ step: { name: own } }) => own === name);
        expect(step?.cells.filter(isWrong)).to.deep.equal([]);
        expect(step?.mutualTls.problems).to.deep.equal([]);
        expect(step?.ok, step && renderStep(step, PLAIN)).to.equal(true);
      });
    }

    it('fails no call of a sidecar in any of them', () => {
      expect(result.failures).to.deep.equal([]);
      expect(result.background.calls).to.be.greaterThan(100);
    });
  });

  describe('while its parts are killed, with sidecars calling all the time', () => {
    let record: CallRecord;
    let background: BackgroundCalls;

    before(async () => {
      const tokens = await mintTokens(mesh.lab, HOST.signal);
      record = new CallRecord(HOST.now());
      background = new BackgroundCalls(mesh.lab, tokens.get('valid') ?? '', record, HOST.now);
      await moreCalls();
    });

    after(() => background?.stop());

    afterEach(() => expect(record.failures).to.deep.equal([]));

    async function moreCalls(): Promise<void> {
      const enough = record.totals.calls + 40;
      await mesh.until('sidecars call', async () => record.totals.calls >= enough);
    }

    /** What discovery is told from now on reaches the proxies. */
    async function policiesComeIntoForce(): Promise<void> {
      await mesh.ask('apply', '-f', join(REFERENCE, 'policies/2-foo-mtls.yaml'));
      await mesh.node.eventually('000 56', 'sleep.legacy', HTTPBIN_FOO);
      await mesh.ask('delete', '-f', join(REFERENCE, 'policies/2-foo-mtls.yaml'));
      await mesh.node.eventually('200 0', 'sleep.legacy', HTTPBIN_FOO);
    }

    /** A new pod is injected, gets its certificate and its configuration, and answers. */
    async function podsComeUp(): Promise<void> {
      const before = await mesh.pods('bar');
      await mesh.ask('rollout', 'restart', '-n', 'bar', 'deployment/other');
      await mesh.rolledOut('bar');
      const added = (await mesh.pods('bar')).filter(({ uid }) => before.every((pod) => pod.uid !== uid));
      expect(added.map(({ containers }) => containers)).to.deep.equal([['mesh-proxy', 'other']]);
      await mesh.node.eventually('200 0', 'sleep.foo', 'http://other.bar:8000/ip');
    }

    it('goes on without the API server, and follows it again when it is back', async () => {
      mesh.cluster.killApiServer();
      await moreCalls();
      expect(await mesh.node.call('sleep.legacy', HTTPBIN_FOO)).to.equal('200 0');
      await mesh.cluster.startApiServer();
      await policiesComeIntoForce();
      await podsComeUp();
    });

    for (const [title, name] of [
      ['the certificate authority', 'mesh-citadel'],
      ['discovery', 'mesh-pilot'],
      ['the injector', 'mesh-sidecar-injector'],
    ] as const) {
      it(`goes on without ${title}, which is started again`, async () => {
        const restarts = await mesh.restarts(name);
        await mesh.kill(`${name}.mesh-system`, name);
        await moreCalls();
        await mesh.until(`${name} is back`, async () => (await mesh.restarts(name)) > restarts && (await mesh.isReady(name)));
        await policiesComeIntoForce();
        await podsComeUp();
      });
    }
  });

  describe('while no injector runs', () => {
    before(() => mesh.scale('mesh-sidecar-injector', 0));

    it('refuses pods, and says in an event of their owner what is missing', async () => {
      await mesh.ask('scale', '-n', 'bar', 'deployment/other', '--replicas=2');
      await mesh.until('the refusal is told', async () => {
        const events = await mesh.ask('get', 'events', '-n', 'bar', '--field-selector', 'reason=FailedCreate');
        return /failed calling webhook "sidecar-injector\.mesh\.io"/.test(events) && events.includes('mesh-sidecar-injector');
      });
      const { code, stderr } = await mesh.kubectl('run', 'refused', '-n', 'bar', '--image=sleep');
      expect(code).to.equal(1);
      expect(stderr).to.include('failed calling webhook "sidecar-injector.mesh.io"');
      // Those that were replaced before may still be ending.
      await mesh.until('no pod was added', async () => (await mesh.pods('bar')).length === 3);
    });

    it('admits pods as they are where the webhook says so', async () => {
      await mesh.setFailurePolicy('Ignore');
      // The API server learns of the change a moment later.
      const run = async () => (await mesh.kubectl('run', 'plain', '-n', 'bar', '--image=sleep')).code === 0;
      await mesh.until('a pod is admitted', run);
      const plain = (await mesh.pods('bar')).find(({ name }) => name === 'plain');
      expect(plain?.containers).to.deep.equal(['plain']);
      await mesh.ask('delete', 'pod', 'plain', '-n', 'bar');
      await mesh.setFailurePolicy('Fail');
    });

    it('injects again once it is back', async () => {
      await mesh.scale('mesh-sidecar-injector', 1);
      await mesh.ask('rollout', 'restart', '-n', 'bar', 'deployment/other');
      await mesh.rolledOut('bar');
      for (const { name, containers } of await mesh.pods('bar')) expect(containers, name).to.include('mesh-proxy');
    });
  });

  describe('the end of the node', () => {
    it('leaves no process when it is killed, and runs its pods again when it is back', async () => {
      const [pod] = (await mesh.pods('legacy')).map(({ name }) => name);
      process.kill(await mesh.node.initPid(), 'SIGKILL');
      await mesh.until('every process has ended', async () => (await mesh.node.processes()).length === 0);
      await mesh.startNode();
      await mesh.until('the node runs pods', async () => (await mesh.node.run('exec', `${pod}.legacy`, '--', 'true')).code === 0);
      await mesh.node.eventually('200 0', 'sleep.foo', HTTPBIN_FOO);
    });

    it('leaves the cluster and the machine when the node is taken down', async () => {
      const { code, stdout } = await mesh.node.run('down');
      expect([code, stdout]).to.deep.equal([0, `lab in ${mesh.node.dir} is down\n`]);
      expect(await mesh.ask('get', 'nodes', '-o', 'name')).to.equal('');
      expect(await mesh.ask('get', 'pods', '-A', '--field-selector', 'spec.nodeName=lab', '-o', 'name')).to.equal('');
      expect(await mesh.node.processes()).to.deep.equal([]);
    });
  });
});
