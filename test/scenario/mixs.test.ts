import { expect } from 'chai';
import { LabUnderTest, MANIFESTS } from '../harness/lab-under-test.ts';

const LIMIT_MS = 240_000;
const URL = 'http://httpbin.foo:8000';
const CLIENT = 'sleep.foo';

const meshConfiguration = (more = ''): string => `
apiVersion: v1
kind: ConfigMap
metadata: {name: mesh, namespace: mesh-system}
data:
  mesh: |
    mixerCheckServer: mesh-policy.mesh-system.svc.cluster.local:9091
    mixerReportServer: mesh-telemetry.mesh-system.svc.cluster.local:9091
    ${more}
`;

const object = (kind: string, name: string, spec: unknown, namespace = 'mesh-system'): string =>
  `---\n${JSON.stringify({ apiVersion: 'config.mesh.io/v1alpha2', kind, metadata: { name, namespace }, spec })}\n`;

/** Who asks for /headers with this header is refused; what it asks for is noted in the answer of everybody else. */
const denial = (message: string): string =>
  [
    object('denier', 'deny', { status: { code: 7, message } }, 'foo'),
    object('checknothing', 'nothing', {}, 'foo'),
    object(
      'rule',
      'deny',
      {
        match: 'destination.service.host == "httpbin.foo.svc.cluster.local" && request.headers["x-forbidden"] == "yes"',
        actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
      },
      'foo',
    ),
    object(
      'rule',
      'caller',
      {
        match: 'context.protocol == "http"',
        requestHeaderOperations: [{ name: 'x-caller', values: ['source.namespace | "nobody"'] }],
      },
      'foo',
    ),
  ].join('');

/** Five requests in ten seconds for each caller that names itself. */
const QUOTA = [
  object('quota', 'requests', { dimensions: { user: 'request.headers["x-user"] | "unknown"' } }),
  object('memquota', 'mem', { quotas: [{ name: 'requests', maxAmount: 5, validDuration: '10s' }] }),
  object('rule', 'count', { actions: [{ handler: 'mem.memquota', instances: ['requests.quota'] }] }),
  object('QuotaSpec', 'per-user', {
    rules: [
      { match: [{ clause: { 'request.headers["x-user"]': { regex: '.+' } } }], quotas: [{ quota: 'requests', charge: 1 }] },
    ],
  }),
  object('QuotaSpecBinding', 'httpbin', {
    services: [{ name: 'httpbin', namespace: 'foo' }],
    quotaSpecs: [{ name: 'per-user' }],
  }),
].join('');

/** What a request came to, for people and for Prometheus. */
const REPORTS = [
  object('logentry', 'line', {
    severity: '"info"',
    timestamp: 'request.time',
    variables: {
      from: 'source.namespace | "nobody"',
      to: 'destination.service.host | "unknown"',
      path: 'request.path | ""',
      code: 'response.code | 0',
      error: 'check.error_code | 0',
    },
  }),
  object('stdio', 'out', { outputAsJson: true }),
  object('metric', 'calls', {
    value: '1',
    dimensions: { from: 'source.namespace | "nobody"', to: 'destination.service.host | "unknown"', code: 'response.code | 0' },
  }),
  object('prometheus', 'prom', {
    metrics: [{ name: 'calls_total', instanceName: 'calls.metric', kind: 'COUNTER', labelNames: ['from', 'to', 'code'] }],
  }),
  object('rule', 'tell', {
    match: 'context.protocol == "http"',
    actions: [
      { handler: 'out.stdio', instances: ['line.logentry'] },
      { handler: 'prom.prometheus', instances: ['calls.metric'] },
    ],
  }),
].join('');

describe('policy and telemetry by mixs, on real proxies', function () {
  this.timeout(LIMIT_MS);
  let lab: LabUnderTest;

  const apply = async (name: string, text: string): Promise<void> => {
    const { code, stderr } = await lab.run('apply', '-f', await lab.file(name, text), '--wait=false');
    expect(code, stderr).to.equal(0);
  };
  const body = async (...options: readonly string[]): Promise<string> =>
    (await lab.run('exec', CLIENT, '--', 'curl', '-s', '--max-time', '5', ...options, `${URL}/headers`)).stdout;
  const scale = async (replicas: number): Promise<void> => {
    const { stdout } = await lab.meshctl('get', 'deployment', 'mixs', '-n', 'mesh-system', '-o', 'json');
    const deployment = JSON.parse(stdout);
    await apply('mixs.json', JSON.stringify({ ...deployment, spec: { ...deployment.spec, replicas } }));
  };
  const refused = ['-H', 'x-forbidden: yes'];

  before(async () => {
    lab = await LabUnderTest.create();
    const manifests = await lab.file('mesh.yaml', `${MANIFESTS}---${meshConfiguration()}`);
    const up = await lab.run('up');
    expect(up.code, up.stderr).to.equal(0);
    const applied = await lab.run('apply', '-f', manifests);
    expect(applied.code, applied.stderr).to.equal(0);
    await lab.eventually('200 0', CLIENT);
  });

  after(async () => {
    await lab?.remove();
  });

  it('runs mixs as a pod with a sidecar, and lets through what no rule refuses', async () => {
    const { stdout } = await lab.run('status');
    expect(stdout).to.match(/mixs-\S+/);
    expect(await lab.call(CLIENT, `${URL}/ip`, ...refused)).to.equal('200 0');
  });

  it("refuses by a rule, with the handler's message, as soon as the rule is applied", async () => {
    await apply('deny.yaml', denial('not today'));
    await lab.eventually('403 0', CLIENT, `${URL}/ip`, ...refused);
    expect(await body(...refused)).to.equal('PERMISSION_DENIED:deny.denier.foo:not today\n');
    expect(await lab.call(CLIENT, `${URL}/ip`)).to.equal('200 0');
  });

  it('knows the caller by its certificate, and tells the application', async () => {
    expect(await body()).to.include('"X-Caller": "foo"');
    const { stdout } = await lab.run('exec', 'sleep.legacy', '--', 'curl', '-s', '--max-time', '5', `${URL}/headers`);
    expect(stdout).to.include('"X-Caller": "nobody"');
  });

  it('takes a changed rule without a restart', async () => {
    await apply('deny.yaml', denial('come back tomorrow'));
    while (!(await body(...refused)).includes('come back tomorrow'));
  });

  it('admits five requests in ten seconds, and no more', async () => {
    await apply('quota.yaml', QUOTA);
    const burst = (user: string): Promise<readonly string[]> =>
      Promise.all(Array.from({ length: 8 }, () => lab.call(CLIENT, `${URL}/ip`, '-H', `x-user: ${user}`)));
    const admitted = (answers: readonly string[]): number => answers.filter((answer) => answer === '200 0').length;
    // Until the rule is in force everything passes.
    for (let user = 0; admitted(await burst(`early-${user}`)) === 8; user++);
    const answers = await burst('late');
    expect(admitted(answers)).to.equal(5);
    expect(answers.filter((answer) => answer === '429 0')).to.have.length(3);
    expect(await lab.call(CLIENT, `${URL}/ip`)).to.equal('200 0');
    await lab.eventually('200 0', CLIENT, `${URL}/ip`, '-H', 'x-user: late');
  });

  it('reports each request to logs and to Prometheus', async () => {
    await apply('reports.yaml', REPORTS);
    const logs = async (): Promise<string> => (await lab.run('logs', 'mixs.mesh-system')).stdout;
    while (!(await logs()).includes('/anything/seen')) await lab.call(CLIENT, `${URL}/anything/seen`);
    const line = (await logs()).split('\n').find((text) => text.includes('/anything/seen')) ?? '';
    expect(line).to.include('"from":"foo"').and.include('"to":"httpbin.foo.svc.cluster.local"');
    while (!(await logs()).includes('"error":7')) await lab.call(CLIENT, `${URL}/ip`, ...refused);
    const metrics = await lab.run('exec', 'mixs.mesh-system', '--', 'curl', '-s', 'http://127.0.0.1:9093/metrics');
    expect(metrics.stdout).to.match(/mesh_calls_total\{.*from="foo".*\} \d+/);
  });

  it('refuses everything while mixs is away, unless the mesh says that everything shall pass', async () => {
    await scale(0);
    await lab.eventually('503 0', CLIENT, `${URL}/ip`);
    await apply('open.yaml', meshConfiguration('policyCheckFailOpen: true'));
    await lab.eventually('200 0', CLIENT, `${URL}/ip`, ...refused);
    await apply('closed.yaml', meshConfiguration());
    await lab.eventually('503 0', CLIENT, `${URL}/ip`);
    await scale(1);
    await lab.eventually('200 0', CLIENT, `${URL}/ip`);
    await lab.eventually('403 0', CLIENT, `${URL}/ip`, ...refused);
  });

  it('asks nobody any more where checks are switched off', async () => {
    await apply('off.yaml', meshConfiguration('disablePolicyChecks: true'));
    await lab.eventually('200 0', CLIENT, `${URL}/ip`, ...refused);
  });
});
