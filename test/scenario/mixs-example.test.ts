/** examples/mixs as the README has it: in a lab, with back ends that are real. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { STANDARD_ATTRIBUTES } from '../../src/rules/attribute/standard-vocabulary.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { requireBackend } from '../harness/backend.ts';
import { LabUnderTest } from '../harness/lab-under-test.ts';
import { RAW_SERVICE } from '../harness/raw-service.ts';
import { requireZipkin, type ZipkinSpan } from '../harness/span-back-ends.ts';

const LIMIT_MS = 600_000;
const URL = 'http://httpbin.foo:8000';
const example = (name: string): string => fileURLToPath(new globalThis.URL(`../../examples/${name}`, import.meta.url));

/** Headers that a proxy takes of one answer are limited, so that those of checks are asked for in portions. */
const PORTION = 40;
const ALL = [...STANDARD_ATTRIBUTES];
const PORTIONS = Array.from({ length: Math.ceil(ALL.length / PORTION) }, (_, at) => ALL.slice(at * PORTION, (at + 1) * PORTION));

const isThere = ([name, type]: (typeof ALL)[number]): string =>
  type === 'STRING_MAP' ? `(size(${name}) | 0) > 0` : `${name} == ${name}`;

/** Of each report a line that says which attributes it has; of checks, by the path, headers that say so. */
const SHOWN = [
  ruleObject('logentry', 'attributes', {
    severity: '"info"',
    timestamp: 'context.time',
    variables: {
      seen: 'context.reporter.kind + " " + context.protocol',
      path: 'request.path | ""',
      ...Object.fromEntries(ALL.map((attribute) => [`has.${attribute[0]}`, isThere(attribute)])),
    },
  }),
  ruleObject('stdio', 'attributes', { outputAsJson: true }),
  ruleObject('rule', 'attributes', {
    match: '(request.url_path | "").startsWith("/anything") || destination.service.name == "echo"',
    actions: [{ handler: 'attributes.stdio', instances: ['attributes.logentry'] }],
  }),
  ...PORTIONS.map((portion, at) =>
    ruleObject('rule', `attributes-${at}`, {
      match: `request.url_path == "/anything/portion${at}"`,
      requestHeaderOperations: portion.map((attribute) => ({
        name: `x-has-${attribute[0].toLowerCase()}`,
        values: [`conditional(${isThere(attribute)}, "yes", "no")`],
      })),
    }),
  ),
];

const under = (prefix: string, ...names: readonly string[]): readonly string[] => names.map((name) => `${prefix}.${name}`);

/** What no proxy knows; kubernetesenv adds some of it. */
const NEVER = [
  ...['source', 'destination'].flatMap((end) =>
    under(
      end,
      'container.image',
      'container.name',
      'metadata',
      'owner',
      'services',
      'workload.name',
      'workload.namespace',
      'workload.uid',
    ),
  ),
  ...['source.service', 'api.operation', 'api.version', 'request.reason', 'check.cache_hit', 'quota.cache_hit'],
  ...under('context', 'reporter.local', 'reporter.type'),
  // No token was asked for, nothing was refused, and nobody spoke gRPC.
  ...under('request.auth', 'audiences', 'claims', 'presenter', 'principal', 'raw_claims'),
  ...under('response', 'grpc_message', 'grpc_status'),
  ...['check.error_code', 'check.error_message'],
];
const CALLER = under('source', 'labels', 'name', 'uid');
const CALLERS_PROOF = under('source', 'principal', 'user');
const CONNECTION = under(
  'connection',
  ...['duration', 'event', 'id', 'received.bytes', 'received.bytes_total', 'sent.bytes', 'sent.bytes_total'],
);
const RESPONSE = under('response', 'code', 'duration', 'flags', 'headers', 'size', 'time', 'total_size');
const REQUEST = under(
  'request',
  ...[
    'api_key',
    'headers',
    'host',
    'id',
    'method',
    'path',
    'query_params',
    'referer',
    'scheme',
    'size',
    'total_size',
    'url_path',
    'useragent',
  ],
);
/** What the caller's proxy does not know of whom it has called, and of the session with it. */
const CALLED = [
  ...under('destination', 'labels', 'name', 'principal', 'serviceAccount', 'uid', 'user'),
  ...under('connection', 'mtls', 'requested_server_name'),
];

const ABSENT: Readonly<Record<string, readonly string[]>> = {
  check: [...NEVER, ...CALLER, ...CONNECTION, ...RESPONSE, 'context.proxy_error_code', 'request.total_size'],
  'inbound http': [...NEVER, ...CALLER, ...CONNECTION],
  'outbound http': [...NEVER, ...CALLERS_PROOF, ...CALLED, ...CONNECTION],
  'inbound tcp': [...NEVER, ...CALLER, ...REQUEST, ...RESPONSE.filter((name) => name !== 'response.flags')],
  'outbound tcp': [...NEVER, ...CALLERS_PROOF, ...CALLED, ...REQUEST, ...RESPONSE.filter((name) => name !== 'response.flags')],
};

describe('the example of mixs, with a real Prometheus, Redis and Zipkin', function () {
  this.timeout(LIMIT_MS);
  let lab: LabUnderTest;

  const apply = async (...files: readonly string[]): Promise<void> => {
    const { code, stderr } = await lab.run('apply', ...files.flatMap((file) => ['-f', file]));
    expect(code, stderr).to.equal(0);
  };
  const curl = async (pod: string, url: string, ...options: readonly string[]): Promise<string> =>
    (await lab.run('exec', pod, '--', 'curl', '-s', '--max-time', '20', ...options, url)).stdout;
  const logs = async (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await lab.run('logs', 'mixs.mesh-system')).stdout
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Readonly<Record<string, unknown>>] : []));
  const logged = async (
    fits: (line: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<Readonly<Record<string, unknown>>> => {
    for (;;) {
      const line = (await logs()).find(fits);
      if (line !== undefined) return line;
    }
  };
  const missing = (line: Readonly<Record<string, unknown>>): readonly string[] =>
    Object.entries(line).flatMap(([name, value]) => (name.startsWith('has.') && value === false ? [name.slice(4)] : []));

  before(async function () {
    for (const backend of ['prometheus', 'redis'] as const) requireBackend(backend, this);
    requireZipkin(this);
    this.timeout(LIMIT_MS);
    lab = await LabUnderTest.create();
    const up = await lab.run('up');
    expect(up.code, up.stderr).to.equal(0);
    const raw = await lab.file('raw.yaml', RAW_SERVICE);
    await apply(...['namespaces', 'foo', 'bar', 'legacy'].map((name) => example(`reference/${name}.yaml`)), raw);
    await apply(example('mixs/mesh.yaml'), example('mixs/rules.yaml'));
    await apply(...['prometheus', 'redis', 'zipkin'].map((name) => example(`mixs/backends/${name}.yaml`)));
    await apply(await lab.file('shown.yaml', SHOWN.map((object) => JSON.stringify(object)).join('\n---\n')));
    while (!(await curl('sleep.bar', `${URL}/anything/portion0`)).includes('X-Has-'));
  });

  after(async () => {
    await lab?.remove();
  });

  it("refuses with the handler's message", async () => {
    expect(await lab.call('sleep.bar', `${URL}/headers`)).to.equal('403 0');
    expect(await curl('sleep.bar', `${URL}/headers`)).to.equal('PERMISSION_DENIED:private.denier.foo:headers are private\n');
    expect(await lab.call('sleep.foo', `${URL}/headers`)).to.equal('200 0');
  });

  it('admits by a list of the namespaces of callers', async () => {
    const answers = await Promise.all(['foo', 'bar', 'legacy'].map((from) => lab.call(`sleep.${from}`, `${URL}/bytes/1`)));
    expect(answers).to.deep.equal(['200 0', '404 0', '404 0']);
  });

  it('admits five requests in ten seconds, counted in Redis', async () => {
    // By one curl: started one by one, eight might take longer than the window.
    const burst = async (user: string): Promise<readonly string[]> => {
      const urls = Array.from({ length: 8 }, () => ['-o', '/dev/null', `${URL}/ip`]).flat();
      const options = ['-s', '--max-time', '20', '-w', '%{http_code}\\n', '-H', `x-user: ${user}`];
      return (await lab.run('exec', 'sleep.bar', '--', 'curl', ...options, ...urls)).stdout.trim().split('\n');
    };
    const count = (answers: readonly string[], answer: string): number => answers.filter((each) => each === answer).length;
    // The calls of one burst may fall into two windows.
    let answers = await burst('first');
    for (let user = 0; count(answers, '429') !== 3; user++) answers = await burst(`user-${user}`);
    expect(count(answers, '200')).to.equal(5);
    const keys = 'exec 3<>/dev/tcp/127.0.0.1/6379; printf "KEYS *\\r\\n" >&3; timeout 2 cat <&3';
    const { stdout } = await lab.run('exec', 'redis.monitoring', '--', 'bash', '-c', keys);
    expect(stdout).to.match(/requests/);
  });

  it('counts requests by source and destination in Prometheus', async () => {
    for (let call = 0; call < 3; call++) await lab.call('sleep.bar', `${URL}/status/418`);
    await lab.call('sleep.foo', `${URL}/status/418`);
    const query = encodeURIComponent('sum by (source, destination) (mesh_requests_total{code="418"})');
    const counts = async (): Promise<Readonly<Record<string, string>>> => {
      const answer = JSON.parse(await curl('prometheus.monitoring', `http://127.0.0.1:9090/api/v1/query?query=${query}`)) as {
        readonly data: {
          readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
        };
      };
      return Object.fromEntries(
        answer.data.result.map(({ metric, value }) => [`${metric['source']} ${metric['destination']}`, value[1]]),
      );
    };
    const expected = { 'bar httpbin.foo.svc.cluster.local': '3', 'foo httpbin.foo.svc.cluster.local': '1' };
    const isComplete = (found: Readonly<Record<string, string>>): boolean =>
      Object.values(found).reduce((sum, value) => sum + Number(value), 0) >= 4;
    let found = await counts();
    while (!isComplete(found)) found = await counts();
    expect(found).to.deep.equal(expected);
  });

  it('logs one line for each request, though both of its sidecars report it', async () => {
    await lab.call('sleep.bar', `${URL}/anything/once`);
    await logged(({ seen, path }) => seen === 'outbound http' && path === '/anything/once');
    await logged(({ seen, path }) => seen === 'inbound http' && path === '/anything/once');
    const isAccess = (line: Readonly<Record<string, unknown>>): boolean =>
      String(line['instance']).startsWith('access.') && line['path'] === '/anything/once';
    await logged(isAccess);
    const lines = (await logs()).filter(isAccess);
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ from: 'bar', to: 'httpbin.foo.svc.cluster.local', method: 'GET', code: 200 });
  });

  it('shows one trace in Zipkin: the call in both sidecars, the check, and what mixs says', async () => {
    // Proxies look again and again whether the collector's name means something by now: up to a minute may pass.
    const collectors = 'http://127.0.0.1:15000/stats?filter=cluster.zipkin.membership_total';
    for (const pod of ['sleep.foo', 'httpbin.foo', 'mixs.mesh-system']) while (!(await curl(pod, collectors)).includes(': 1'));
    const [traceId, root] = ['463ac35c9f6413ad48485a3953bb6124', 'a2fb4a1d1a96d312'];
    const headers = { 'x-b3-traceid': traceId, 'x-b3-spanid': root, 'x-b3-sampled': '1' };
    const options = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    expect(await lab.call('sleep.foo', `${URL}/get`, ...options)).to.equal('200 0');
    const spansNow = async (): Promise<readonly ZipkinSpan[]> => {
      const text = await curl('zipkin.monitoring', `http://127.0.0.1:9411/api/v2/trace/${traceId}`);
      return text.startsWith('[') ? (JSON.parse(text) as readonly ZipkinSpan[]) : [];
    };
    let spans = await spansNow();
    while (spans.length < 5) spans = await spansNow();
    const below = (parent: string | undefined, kind: string, name: RegExp): ZipkinSpan | undefined =>
      spans.find((span) => span.parentId === parent && span.kind === kind && name.test(span.name));
    const service = (span: ZipkinSpan | undefined): string | undefined => span?.localEndpoint?.['serviceName'];
    const client = below(root, 'CLIENT', /^httpbin\.foo/);
    const server = below(client?.id, 'SERVER', /^httpbin\.foo/);
    const check = below(server?.id, 'CLIENT', /authorization\.check/);
    const checked = below(check?.id, 'SERVER', /^mesh-policy/);
    const told = below(server?.id, 'SERVER', /^mixs \/get/);
    expect([client, server, checked, told].map(service)).to.deep.equal([
      'sleep',
      'httpbin',
      'mixs',
      'httpbin.foo.svc.cluster.local',
    ]);
    expect(told?.tags).to.include({ 'source.principal': 'cluster.local/ns/foo/sa/sleep', 'http.status_code': '200' });
  });

  it('takes a changed file of rules without a restart', async () => {
    const before = (await lab.run('status')).stdout.match(/mixs-\S+/)?.[0];
    const rules = await readFile(example('mixs/rules.yaml'), 'utf8');
    await apply(await lab.file('rules.yaml', rules.replace('headers are private', 'headers are secret')));
    while (!(await curl('sleep.bar', `${URL}/headers`)).includes('headers are secret'));
    expect((await lab.run('status')).stdout).to.match(new RegExp(`${before} +1/1 +Running +0 `));
  });

  describe('has the attributes that the reference says', () => {
    const options = ['-H', 'referer: http://elsewhere', '-d', 'body'];
    const path = (portion: number): string => `/anything/portion${portion}?key=k`;

    it('of checks', async () => {
      const absent: string[] = [];
      for (const [at, portion] of PORTIONS.entries()) {
        const { headers } = JSON.parse(await curl('sleep.bar', `${URL}${path(at)}`, ...options)) as {
          readonly headers: Readonly<Record<string, string>>;
        };
        const told = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
        for (const [name] of portion) if (told.get(`x-has-${name.toLowerCase()}`) !== 'yes') absent.push(name);
      }
      expect(absent).to.have.members(ABSENT['check'] ?? []);
    });

    for (const seen of ['inbound http', 'outbound http']) {
      it(`of reports: ${seen}`, async () => {
        const called = `/anything/${seen.replace(' ', '-')}?key=k`;
        await curl('sleep.bar', `${URL}${called}`, ...options);
        const line = await logged((each) => each['seen'] === seen && each['path'] === called);
        expect(missing(line)).to.have.members(ABSENT[seen] ?? []);
      });
    }

    for (const seen of ['inbound tcp', 'outbound tcp']) {
      it(`of reports: ${seen}`, async () => {
        const script = 'exec 3<>/dev/tcp/echo.foo/9000; echo hello >&3; timeout 3 head -1 <&3';
        await lab.run('exec', 'sleep.bar', '--', 'bash', '-c', script);
        const line = await logged((each) => each['seen'] === seen);
        expect(missing(line)).to.have.members(ABSENT[seen] ?? []);
      });
    }
  });
});
