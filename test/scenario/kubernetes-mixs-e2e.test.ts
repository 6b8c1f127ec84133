/** mixs as users have it on Kubernetes: installed by the command, in pods with sidecars, with rules applied by kubectl. */
import { expect } from 'chai';
import { ruleObject } from '../fakes/rule-objects.ts';
import { ownCluster } from '../harness/cluster.ts';
import { ClusterMesh } from '../harness/cluster-mesh.ts';
import { MANIFESTS } from '../harness/lab-under-test.ts';

const CLIENT = 'sleep.foo';
const OUTSIDER = 'sleep.legacy';
const HTTPBIN = 'http://httpbin.foo:8000';
const METRICS = 'http://mesh-telemetry.mesh-system:9093/metrics';
const MIXS = 'mesh-mixs';

const DENIAL = [
  ruleObject('denier', 'closed', { status: { code: 7, message: 'closed for today' } }, 'foo'),
  ruleObject('checknothing', 'anything', {}, 'foo'),
  ruleObject(
    'rule',
    'closed',
    { match: 'request.url_path == "/ip"', actions: [{ handler: 'closed.denier', instances: ['anything.checknothing'] }] },
    'foo',
  ),
];

describe('mixs on a real cluster, installed by meshctl', function () {
  this.timeout(300_000);
  let mesh: ClusterMesh;

  before(async function () {
    const cluster = await ownCluster(this);
    this.timeout(300_000);
    mesh = await ClusterMesh.withNode(cluster);
    const { code, stdout, stderr } = await mesh.meshctl('install', '--apply', '--wait', '--replicas', '1', '--mixs', 'all');
    expect(code, stderr).to.equal(0);
    expect(stdout).to.include(`deployment.apps/${MIXS} created`);
    await mesh.apply(MANIFESTS);
    for (const namespace of ['foo', 'legacy']) await mesh.rolledOut(namespace);
    await mesh.node.eventually('200 0', CLIENT, `${HTTPBIN}/ip`);
  });

  after(async function () {
    this.timeout(120_000);
    await mesh?.remove();
  });

  const body = async (client: string, ...curl: readonly string[]): Promise<string> =>
    (await mesh.node.run('exec', client, '--', 'curl', '-s', '--max-time', '20', ...curl)).stdout;
  const deny = (): Promise<string> => mesh.apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: DENIAL }));
  const permit = (): Promise<string> => mesh.ask('delete', 'rules.config.mesh.io', 'closed', '-n', 'foo');

  it('runs it with a sidecar, beside a control plane that has none', async () => {
    const pods = await mesh.pods('mesh-system');
    const injected = pods.filter(({ annotations }) => annotations['sidecar.mesh.io/status'] !== undefined);
    expect(injected.map(({ name }) => name.replace(/-[^-]+-[^-]+$/, ''))).to.deep.equal([MIXS]);
    expect(pods).to.have.length(4);
  });

  it('changes nothing when it is installed again', async () => {
    const { code, stdout, stderr } = await mesh.meshctl('install', '--apply', '--wait', '--replicas', '1', '--mixs', 'all');
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(stdout.split('\n').filter((line) => line !== '' && !line.endsWith(' unchanged'))).to.deep.equal([]);
  });

  it('leaves nothing for analysis to find in what was installed', async () => {
    const { stdout } = await mesh.meshctl('analyze', '-n', 'mesh-system', '-o', 'json');
    expect(JSON.parse(stdout).findings).to.deep.equal([]);
  });

  it('refuses by a rule that kubectl applies, with the words of its handler, and no longer once it is deleted', async () => {
    await deny();
    await mesh.node.eventually('403 0', CLIENT, `${HTTPBIN}/ip`);
    expect(await body(CLIENT, `${HTTPBIN}/ip`)).to.equal('PERMISSION_DENIED:closed.denier.foo:closed for today\n');
    expect(await mesh.node.call(CLIENT, `${HTTPBIN}/headers`)).to.equal('200 0');
    await permit();
    await mesh.node.eventually('200 0', CLIENT, `${HTTPBIN}/ip`);
  });

  it('counts requests by the workloads of both ends, as Prometheus reads it, told of by both', async () => {
    const counted = (reporter: string, text: string): string | undefined =>
      text
        .split('\n')
        .filter((line) => line.startsWith('mesh_requests_total{') && line.includes(`reporter="${reporter}"`))
        .find((line) => /source_workload="sleep".*destination_service_name="httpbin".*response_code="200"/.test(line));
    let text = '';
    while (counted('source', text) === undefined || counted('destination', text) === undefined) {
      await mesh.node.call(CLIENT, `${HTTPBIN}/ip`);
      text = await body(OUTSIDER, METRICS);
    }
    const labels = counted('destination', text);
    for (const expected of [
      'source_workload_namespace="foo"',
      'source_app="sleep"',
      'source_principal="cluster.local/ns/foo/sa/default"',
      'destination_workload="httpbin"',
      'destination_workload_namespace="foo"',
      'destination_app="httpbin"',
      'connection_security_policy="mutual_tls"',
    ])
      expect(labels).to.include(expected);
    const { stdout: log } = await mesh.node.run('logs', `${MIXS}.mesh-system`, '-c', MIXS);
    expect(log).to.include('"sourceWorkload":"sleep"').and.include('"url":"/ip"');
  });

  it('is asked by sidecars alone', async () => {
    const { code } = await mesh.node.run('exec', OUTSIDER, '--', 'curl', '-s', 'http://mesh-policy.mesh-system:9091');
    expect(code).to.equal(56);
  });

  it('works by the same rules when it was killed and has been started again', async () => {
    await deny();
    await mesh.node.eventually('403 0', CLIENT, `${HTTPBIN}/ip`);
    const restarts = await mesh.restarts(MIXS);
    await mesh.kill(`${MIXS}.mesh-system`, MIXS);
    await mesh.until('mixs is back', async () => (await mesh.restarts(MIXS)) > restarts && (await mesh.isReady(MIXS)));
    await mesh.node.eventually('403 0', CLIENT, `${HTTPBIN}/ip`);
    await permit();
    await mesh.node.eventually('200 0', CLIENT, `${HTTPBIN}/ip`);
  });

  it('has everything refused while there is none of it', async () => {
    await mesh.scale(MIXS, 0);
    await mesh.node.eventually('503 0', CLIENT, `${HTTPBIN}/ip`);
    await mesh.scale(MIXS, 1);
    await mesh.node.eventually('200 0', CLIENT, `${HTTPBIN}/ip`);
  });
});
