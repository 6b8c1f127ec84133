import { join } from 'node:path';
import { expect } from 'chai';
import { loadKeys, publicKeySet } from '../../src/lab/images/signing-keys.ts';
import { LabUnderTest, MANIFESTS } from '../harness/lab-under-test.ts';
import { RAW_SERVICE } from '../harness/raw-service.ts';

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
        requestHeaderOperations: [
          { name: 'x-caller', values: ['source.namespace | "nobody"'] },
          { name: 'x-app', values: ['destination.labels["app"] | "unknown"'] },
        ],
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

/** Only the namespaces of a list may ask in this way. */
const LIST = [
  object('listchecker', 'known', { overrides: ['foo'] }),
  object('listentry', 'namespace', { value: 'source.namespace | "nobody"' }),
  object('rule', 'known-only', {
    match: 'request.headers["x-listed"] == "yes"',
    actions: [{ handler: 'known.listchecker', instances: ['namespace.listentry'] }],
  }),
].join('');

/** A service of raw TCP, which only workloads with a certificate of foo may connect to. */
const RAW = [
  RAW_SERVICE,
  object('denier', 'closed', { status: { code: 7, message: 'closed' } }),
  object('checknothing', 'nothing', {}),
  object('rule', 'closed', {
    match:
      'context.protocol == "tcp" && destination.service.host == "echo.foo.svc.cluster.local" && (source.namespace | "nobody") != "foo"',
    actions: [{ handler: 'closed.denier', instances: ['nothing.checknothing'] }],
  }),
  object('logentry', 'connection', {
    severity: '"info"',
    timestamp: 'context.time',
    variables: { who: 'source.namespace | "nobody"', received: 'connection.received.bytes | 0' },
  }),
  object('stdio', 'connections', { outputAsJson: true }),
  object('rule', 'connections', {
    match: 'context.protocol == "tcp" && destination.service.name == "echo"',
    actions: [{ handler: 'connections.stdio', instances: ['connection.logentry'] }],
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
    (await lab.run('exec', CLIENT, '--', 'curl', '-s', '--max-time', '20', ...options, `${URL}/headers`)).stdout;
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
    expect(await body())
      .to.include('"X-Caller": "foo"')
      .and.include('"X-App": "httpbin"');
    const { stdout } = await lab.run('exec', 'sleep.legacy', '--', 'curl', '-s', '--max-time', '20', `${URL}/headers`);
    expect(stdout).to.include('"X-Caller": "nobody"');
  });

  it('takes a changed rule without a restart', async () => {
    await apply('deny.yaml', denial('come back tomorrow'));
    while (!(await body(...refused)).includes('come back tomorrow'));
  });

  it('refuses to store a rule that can never be right', async () => {
    const actions = [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }];
    const file = await lab.file('wrong.yaml', object('rule', 'deny', { match: 'source.namespce == "foo"', actions }, 'foo'));
    for (const { code, stderr } of [await lab.run('apply', '-f', file), await lab.meshctl('apply', '-f', file)]) {
      expect(code).to.equal(1);
      expect(stderr).to.include('did you mean "source.namespace"?');
    }
    expect(await body(...refused)).to.include('come back tomorrow');
  });

  it('admits five requests in ten seconds, and no more', async () => {
    await apply('quota.yaml', QUOTA);
    // By one curl: started one by one, eight might take longer than the window.
    const burst = async (user: string): Promise<readonly string[]> => {
      const urls = Array.from({ length: 8 }, () => ['-o', '/dev/null', `${URL}/ip`]).flat();
      const curl = ['curl', '-s', '--max-time', '20', '-w', '%{http_code}\\n', '-H', `x-user: ${user}`, ...urls];
      return (await lab.run('exec', CLIENT, '--', ...curl)).stdout.trim().split('\n');
    };
    const admitted = (answers: readonly string[]): number => answers.filter((answer) => answer === '200').length;
    // Until the rule is in force everything passes.
    for (let user = 0; admitted(await burst(`early-${user}`)) === 8; user++);
    const answers = await burst('late');
    expect(admitted(answers)).to.equal(5);
    expect(answers.filter((answer) => answer === '429')).to.have.length(3);
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

  it('admits by a list of the namespaces of callers', async () => {
    await apply('list.yaml', LIST);
    await lab.eventually('404 0', 'sleep.legacy', `${URL}/ip`, '-H', 'x-listed: yes');
    expect(await lab.call(CLIENT, `${URL}/ip`, '-H', 'x-listed: yes')).to.equal('200 0');
    expect(await lab.call('sleep.legacy', `${URL}/ip`)).to.equal('200 0');
  });

  it('closes connections of raw TCP that a rule refuses, and reports those that it admits', async () => {
    const { code, stderr } = await lab.run('apply', '-f', await lab.file('raw.yaml', RAW));
    expect(code, stderr).to.equal(0);
    const echo = async (client: string): Promise<string> => {
      const script = 'exec 3<>/dev/tcp/echo.foo/9000; echo hello >&3; timeout 20 head -1 <&3';
      return (await lab.run('exec', client, '--', 'bash', '-c', script)).stdout;
    };
    while ((await echo(CLIENT)) !== 'hello\n');
    while ((await echo('sleep.legacy')) !== '');
    expect(await echo(CLIENT)).to.equal('hello\n');
    const told = async (line: string): Promise<boolean> => (await lab.run('logs', 'mixs.mesh-system')).stdout.includes(line);
    while (!(await told('"who":"foo","received":6')));
    expect((await lab.meshctl('delete', 'rule', 'closed', '-n', 'mesh-system')).code).to.equal(0);
    while ((await echo('sleep.legacy')) !== 'hello\n');
  });

  it('knows the end user by a token that the proxy has verified', async () => {
    const keys = join(lab.dir, 'keys.json');
    const mint = ['image', 'jwks', 'mint', '--keys', keys, '--issuer', 'https://issuer.example', '--subject', 'alice'];
    const token = (await lab.mesh('lab', ...mint)).stdout.trim();
    const jwks = JSON.stringify(publicKeySet(await loadKeys(keys)));
    const spec = {
      targets: [{ name: 'httpbin' }],
      origins: [{ jwt: { issuer: 'https://issuer.example', jwks } }],
      principalBinding: 'USE_ORIGIN',
    };
    const metadata = { name: 'httpbin', namespace: 'foo' };
    await apply('policy.yaml', JSON.stringify({ apiVersion: 'authentication.mesh.io/v1alpha1', kind: 'Policy', metadata, spec }));
    await apply(
      'user.yaml',
      object('rule', 'user', {
        match: 'request.auth.principal == "https://issuer.example/alice"',
        requestHeaderOperations: [{ name: 'x-end-user', values: ['request.auth.claims["sub"]'] }],
      }),
    );
    await lab.eventually('401 0', CLIENT, `${URL}/ip`);
    while (!(await body('-H', `authorization: Bearer ${token}`)).includes('"X-End-User": "alice"'));
    expect((await lab.meshctl('delete', 'policy', 'httpbin', '-n', 'foo')).code).to.equal(0);
    await lab.eventually('200 0', CLIENT, `${URL}/ip`);
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
