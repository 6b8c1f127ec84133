import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { dump } from 'js-yaml';
import { CheckRequest, ReportRequest } from '#gen/istio/mixer/v1/mixer.ts';
import { checkFresh } from '../../src/io/probe/probe.ts';
import { seconds } from '../../src/lib/duration.ts';
import { GLOBAL_WORDS } from '../../src/mixs/attribute/global-words.ts';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { MixerClient } from '../harness/mixer-client.ts';
import { type CallResult, GrpcJsClient } from '../harness/rpc-clients.ts';

const CHECK = '/istio.mixer.v1.Mixer/Check';
const REPORT = '/istio.mixer.v1.Mixer/Report';
const MAX_MESSAGE = 65_536;

const zigzag = (index: number): number => (index < 0 ? -2 * index - 1 : 2 * index);
/** One entry of the strings of CompressedAttributes: the indices of its name and of its value. */
const stringEntry = (name: number, value: number): Uint8Array => Uint8Array.of(0x12, 4, 0x08, zigzag(name), 0x10, zigzag(value));
const checkOf = (fields: Partial<CheckRequest>): Buffer =>
  Buffer.from(CheckRequest.encode(CheckRequest.fromPartial({ globalWordCount: GLOBAL_WORDS.length, ...fields })).finish());
const reportOf = (sets: number): Buffer =>
  Buffer.from(ReportRequest.encode(ReportRequest.fromPartial({ attributes: Array(sets).fill(new Uint8Array()) })).finish());
const quotasOf = (count: number, amount: number): CheckRequest['quotas'] =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`q${i}`, { amount, bestEffort: false }]));

describe('mixs under bad input and faults', function () {
  this.timeout(120_000);
  const rpc = new GrpcJsClient();
  let dir: string;
  let server: InProcess;
  let client: MixerClient;
  let port: number;
  let monitoringPort: number;

  const write = (name: string, ...objects: readonly unknown[]): void =>
    writeFileSync(join(dir, name), objects.map((object) => dump(object)).join('---\n'));
  const page = async (path: string, init?: RequestInit): Promise<string> =>
    (await fetch(`http://127.0.0.1:${monitoringPort}${path}`, init)).text();
  const metric = async (name: string): Promise<number> => {
    const line = (await page('/metrics')).split('\n').find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? 0);
  };
  const send = async (path: string, message: Buffer): Promise<CallResult> => {
    const [result] = await rpc.play({ port }, { path, messages: [message] });
    if (result === undefined) throw new Error('no result');
    return result;
  };
  const codeOf = async (namespace: string): Promise<number> =>
    (await client.check({ 'source.namespace': namespace })).precondition.status?.code ?? 0;
  /** Does something while others ask, and shows that all of them are answered. */
  const amongOthers = async <T>(work: () => Promise<T>): Promise<T> => {
    const ask = (): Promise<number[]> => Promise.all(Array.from({ length: 20 }, () => codeOf('denied')));
    const [before, result] = await Promise.all([ask(), work()]);
    expect([...before, ...(await ask())]).to.deep.equal(Array(40).fill(7));
    return result;
  };

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mixs-faults-'));
    write(
      'rules.yaml',
      ruleObject('denier', 'deny', { status: { code: 7, message: 'no' } }),
      ruleObject('checknothing', 'nothing'),
      ruleObject('rule', 'deny', {
        match: 'source.namespace == "denied"',
        actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
      }),
      ruleObject('quota', 'count', { dimensions: { user: 'source.user | "all"' } }),
      ruleObject('memquota', 'mem', { quotas: [{ name: 'count', maxAmount: 10, validDuration: '1h' }] }),
      ruleObject('rule', 'count', { actions: [{ handler: 'mem.memquota', instances: ['count.quota'] }] }),
    );
    [port, monitoringPort] = [await freePort(), await freePort()];
    const options = { configStoreURL: `fs://${dir}`, port, monitoringPort, maxMessageSize: MAX_MESSAGE, profile: true };
    server = await InProcess.start(run, serverFlags, options, 'serving');
    client = new MixerClient(port);
  });

  after(async () => {
    client?.close();
    expect(await server?.stop()).to.equal(0);
    rmSync(dir, { recursive: true, force: true });
  });

  const REFUSED: readonly (readonly [what: string, path: string, message: Buffer, code: number, text: string])[] = [
    ['a message over --maxMessageSize', CHECK, Buffer.alloc(MAX_MESSAGE + 1), 8, `${MAX_MESSAGE}`],
    ['a message that is cut off', CHECK, checkOf({ deduplicationId: 'abcdef' }).subarray(0, -2), 3, 'cannot be decoded'],
    ['attributes that are cut off', CHECK, checkOf({ attributes: stringEntry(0, 1).subarray(0, 4) }), 3, 'cut off'],
    ['a global word that there is none of', CHECK, checkOf({ attributes: stringEntry(0, 1), globalWordCount: 1 }), 3, 'index 1'],
    ['a word of its own that it has not', CHECK, checkOf({ attributes: stringEntry(0, -3) }), 3, 'index -3'],
    ['more global words than ours', CHECK, checkOf({ globalWordCount: 100_000 }), 3, 'global_word_count'],
    ['101 quotas', CHECK, checkOf({ quotas: quotasOf(101, 1) }), 3, 'at most 100'],
    ['a quota below nothing', CHECK, checkOf({ quotas: quotasOf(1, -1) }), 3, 'quotas["q0"].amount: -1 is below 0'],
    ['10,001 sets of attributes', REPORT, reportOf(10_001), 3, 'at most 10000'],
    ['a method that there is none of', '/istio.mixer.v1.Mixer/Quota', Buffer.alloc(0), 12, 'Quota'],
  ];
  for (const [what, path, message, code, text] of REFUSED) {
    it(`refuses ${what}, and loses no other request`, async () => {
      const result = await amongOthers(() => send(path, message));
      expect(result.code, result.message).to.equal(code);
      expect(result.message).to.include(text);
    });
  }

  it('refuses an attribute of a wrong type, and loses no other request', async () => {
    const refused = await amongOthers(() => client.check({ 'source.namespace': 5 }).catch((error: unknown) => error));
    expect(refused).to.have.property('code', 3);
    expect(refused).to.have.property('details').that.includes('source.namespace is STRING');
  });

  it('takes as much as it allows', async () => {
    expect((await send(REPORT, reportOf(10_000))).code).to.equal(0);
    expect((await send(CHECK, checkOf({ quotas: quotasOf(100, 1) }))).code).to.equal(0);
  });

  it('leaves out attributes that nobody knows, counts them, and names them where that is asked for', async () => {
    const before = await metric('mixs_attributes_unknown_total');
    const levels = JSON.parse(await page('/scopez'));
    expect(JSON.stringify(levels)).to.include('default').and.include('attributes').and.include('adapters');
    await page('/scopez/attributes', { method: 'PUT', body: '{"outputLevel":"debug"}' });
    const { precondition } = await client.check({
      'no.such': 'x',
      'source.namespace': 'denied',
      'nor.this': { map: { a: 'b' } },
    });
    expect(precondition.status?.code).to.equal(7);
    expect(await metric('mixs_attributes_unknown_total')).to.equal(before + 2);
    await server.logged('no.such');
    await page('/scopez/attributes', { method: 'PUT', body: '{"outputLevel":"info"}' });
  });

  it('answers a thousand calls at once, over one connection and over a thousand', async () => {
    const call = { path: CHECK, messages: [checkOf({})] };
    for (const connections of [1, 1_000]) {
      const results = await amongOthers(() => rpc.play({ port }, call, 1_000, connections));
      expect(results.filter(({ code }) => code !== 0)).to.deep.equal([]);
      expect(results).to.have.lengthOf(1_000);
    }
  });

  it('loses no request, and no count, while configuration changes a hundred times', async () => {
    const take = async (): Promise<number> => {
      const { quotas } = await client.check({ 'source.user': 'counted' }, { quotas: { count: { amount: 7 } } });
      return quotas?.['count']?.grantedAmount ?? 0;
    };
    const rule = (value: string): unknown =>
      ruleObject('rule', 'changing', {
        match: `source.namespace == "changing" && request.path != "${value}"`,
        actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
      });
    expect(await take()).to.equal(7);
    write('changing.yaml', rule('/'));
    while ((await codeOf('changing')) !== 7);
    const codes = new Set<number>();
    for (let change = 0; change < 100; change++) {
      write('changing.yaml', rule(`/${change}`));
      codes.add(await codeOf('denied'));
      for (const code of await Promise.all(Array.from({ length: 5 }, () => codeOf('denied')))) codes.add(code);
    }
    while (!(await page('/debug/config')).includes('/99')) codes.add(await codeOf('denied'));
    expect([...codes]).to.deep.equal([7]);
    expect(await take()).to.equal(0);
  });

  it('keeps the last good of a file that is no YAML, and tells so', async () => {
    const rule = dump(
      ruleObject('rule', 'yaml', {
        match: 'source.namespace == "yaml"',
        actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
      }),
    );
    writeFileSync(join(dir, 'yaml.yaml'), rule);
    while ((await codeOf('yaml')) !== 7);
    writeFileSync(join(dir, 'yaml.yaml'), `${rule}\n  : : {[`);
    await server.logged('yaml.yaml');
    while (!(await page('/debug/config')).includes('yaml.yaml'));
    expect(await codeOf('yaml')).to.equal(7);
    expect(await metric('mixs_store_problems')).to.equal(1);
    writeFileSync(join(dir, 'yaml.yaml'), rule);
    while ((await page('/debug/config')).includes('yaml.yaml'));
    expect(await codeOf('yaml')).to.equal(7);
    expect(await metric('mixs_store_problems')).to.equal(0);
  });

  it('has profiles of its time and memory', async () => {
    for (const path of ['/debug/pprof/heap', '/debug/pprof/profile?seconds=1']) {
      const response = await amongOthers(() => fetch(`http://127.0.0.1:${monitoringPort}${path}`));
      expect(response.status).to.equal(200);
      expect([...new Uint8Array(await response.arrayBuffer()).subarray(0, 2)]).to.deep.equal([0x1f, 0x8b]);
    }
  });

  it('refuses everybody while a list has never been read, and keeps the last good one while its server is away', async () => {
    const listPort = await freePort();
    let list: Server | undefined;
    const start = (body: string): Promise<void> =>
      new Promise((resolve) => {
        list = createServer((_, response) => response.end(body));
        list.listen(listPort, '127.0.0.1', resolve);
      });
    const end = (): Promise<void> =>
      new Promise((resolve) => {
        list?.closeAllConnections();
        list?.close(() => resolve());
      });
    const lookUp = async (path: string): Promise<number> => {
      const { precondition } = await client.check({ 'source.namespace': 'listed', 'request.path': path });
      return precondition.status?.code ?? 0;
    };
    write(
      'list.yaml',
      ruleObject('listentry', 'path', { value: 'request.path' }),
      ruleObject('listchecker', 'paths', {
        providerUrl: `http://127.0.0.1:${listPort}/`,
        refreshInterval: '1s',
        ttl: '1m',
        cachingInterval: '0s',
      }),
      ruleObject('rule', 'list', {
        match: 'source.namespace == "listed"',
        actions: [{ handler: 'paths.listchecker', instances: ['path.listentry'] }],
      }),
    );
    while ((await lookUp('/a')) !== 14);
    await server.logged('the list cannot be read');
    try {
      await start('/a\n');
      while ((await lookUp('/a')) !== 0);
      expect(await lookUp('/b')).to.equal(5);
      await end();
      await server.logged('last good');
      expect(await amongOthers(() => lookUp('/a'))).to.equal(0);
      await start('/b\n');
      while ((await lookUp('/b')) !== 0);
      expect(await lookUp('/a')).to.equal(5);
    } finally {
      await end();
    }
  });
});

describe('mixs when it starts and ends', function () {
  this.timeout(120_000);
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mixs-end-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const failure = (options: object): Promise<unknown> =>
    InProcess.begin(run, serverFlags, { configStoreURL: `fs://${dir}`, ...options }).exit.catch((error: unknown) => error);

  it('refuses half of what a probe file needs before anything listens', async () => {
    for (const name of ['liveness', 'readiness']) {
      const message = `--${name}ProbePath and --${name}ProbeInterval belong together: give both`;
      const path = await failure({ [`${name}ProbePath`]: join(dir, 'file'), port: 0, monitoringPort: 0 });
      expect(path).to.include({ code: 'usage', message });
      const interval = await failure({ [`${name}ProbeInterval`]: seconds(1), port: 0, monitoringPort: 0 });
      expect(interval).to.include({ code: 'usage', message });
    }
  });

  it('says once why the API server cannot be followed, however many kinds it asks for', async () => {
    const path = join(dir, 'kubeconfig');
    let calls = 0;
    const broken = createTcpServer((socket) => {
      calls += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(broken, 'listening');
    const { port } = broken.address() as AddressInfo;
    const cluster = { name: 'broken', cluster: { server: `https://127.0.0.1:${port}` } };
    const user = { name: 'me', user: { token: 'wrong' } };
    const context = { name: 'it', context: { cluster: 'broken', user: 'me' } };
    const config = { clusters: [cluster], users: [user], contexts: [context], 'current-context': 'it' };
    writeFileSync(path, dump({ apiVersion: 'v1', kind: 'Config', ...config }));
    const server = InProcess.begin(run, serverFlags, { configStoreURL: `k8s://${path}`, port: 0, monitoringPort: 0 });
    try {
      await server.logged('given by --configStoreURL');
      // More than there are kinds: all of them have been asked for, some of them again.
      while (calls < 100) await once(broken, 'connection');
    } finally {
      await server.stop().catch(() => {});
      broken.close();
    }
    const reasons = [...server.log.matchAll(/the API server at .*$/gm)].map(([reason]) => reason);
    expect(reasons).to.deep.equal([...new Set(reasons)]);
  });

  it('keeps its probe files fresh while it serves', async () => {
    const [alive, ready] = [join(dir, 'alive'), join(dir, 'ready')];
    const probes = { livenessProbePath: alive, livenessProbeInterval: seconds(2), readinessProbePath: ready };
    const server = await InProcess.start(
      run,
      serverFlags,
      { configStoreURL: `fs://${dir}`, port: 0, monitoringPort: 0, ...probes, readinessProbeInterval: seconds(2) },
      'serving',
    );
    try {
      const areFresh = (): boolean => {
        try {
          for (const path of [alive, ready]) checkFresh(path, seconds(2), new Date());
          return true;
        } catch {
          return false;
        }
      };
      while (!areFresh()) await new Promise((resolve) => setImmediate(resolve));
    } finally {
      expect(await server.stop()).to.equal(0);
    }
  });

  it('ends in the midst of checks and reports, and has written every report that it took', async () => {
    const file = join(dir, 'reports.log');
    const rules = [
      ruleObject('logentry', 'entry', {
        severity: '"INFO"',
        timestamp: 'request.time | timestamp("2018-06-01T12:00:00Z")',
        variables: { path: 'request.path' },
      }),
      ruleObject('stdio', 'out', { logStream: 'FILE', outputPath: file, outputAsJson: true }),
      ruleObject('rule', 'log', { actions: [{ handler: 'out.stdio', instances: ['entry.logentry'] }] }),
    ];
    writeFileSync(join(dir, 'rules.yaml'), rules.map((rule) => dump(rule)).join('---\n'));
    const port = await freePort();
    const options = { configStoreURL: `fs://${dir}`, port, monitoringPort: 0, singleThreaded: true };
    const server = await InProcess.start(run, serverFlags, options, 'serving');
    const client = new MixerClient(port);
    const taken: string[] = [];
    const refused = new Set<unknown>();
    const note = (error: { readonly code?: unknown }): void => void refused.add(error.code);
    const calls = Array.from({ length: 300 }, (_, i) => [
      client.report([{ 'request.path': `/${i}.` }]).then(() => taken.push(`/${i}.`), note),
      client.check({}).catch(note),
    ]).flat();
    await Promise.race(calls.filter((_, index) => index % 2 === 0));
    expect(await server.stop()).to.equal(0);
    await Promise.all(calls);
    client.close();
    const written = readFileSync(file, 'utf8');
    expect(taken).to.not.have.lengthOf(0);
    expect(taken.filter((path) => !written.includes(`"${path}"`))).to.deep.equal([]);
    // What the server did not take any more is for the client to try elsewhere.
    expect([...refused].filter((code) => code !== 14)).to.deep.equal([]);
  });
});
