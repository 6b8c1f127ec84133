/**
 * Checks and reports a second that a real mixs server answers over gRPC, by wall clock and by CPU time of its process, with rules for 10, 100
 * and 1,000 services; and evaluations of expressions. The client is this process. Run it with `node bench/mixs.ts [seconds]`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { GLOBAL_WORDS } from '../src/mixs/attribute/global-words.ts';
import { vocabularyWith } from '../src/rules/attribute/standard-vocabulary.ts';
import { expressionCompiler } from '../src/rules/expression/compile.ts';
import { bagOf } from '../test/fakes/attributes.ts';
import { compressed } from '../test/fakes/compressed-attributes.ts';
import { ruleObject } from '../test/fakes/rule-objects.ts';
import { freePort } from '../test/harness/free-port.ts';

const AT_ONCE = 64;
const CONNECTIONS = 4;
const WARM_UP_MS = 2_000;
/** Of /proc/<pid>/stat, on every Linux that there is. */
const TICKS_PER_SECOND = 100;
const measureMs = Number(process.argv[2] ?? 3) * 1000;

/** Rules each for a service of its own, all for one handler; every one asks for a header too. */
function rules(count: number): string {
  const own = Array.from({ length: count }, (_, index) =>
    ruleObject('rule', `rule-${index}`, {
      match: `destination.service == "service-${index}.shop.svc.cluster.local" && request.headers["x-refuse"] == "yes"`,
      actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
    }),
  );
  const reports = Array.from({ length: count }, (_, index) =>
    ruleObject('rule', `count-${index}`, {
      match: `destination.service == "service-${index}.shop.svc.cluster.local"`,
      actions: [{ handler: 'prom.prometheus', instances: ['requests.metric'] }],
    }),
  );
  const shared = [
    ruleObject('denier', 'deny', { status: { code: 7 } }),
    ruleObject('checknothing', 'nothing'),
    ruleObject('metric', 'requests', {
      value: 'response.size | 0',
      dimensions: { source: 'source.namespace | "unknown"', service: 'destination.service', code: 'response.code | 0' },
    }),
    ruleObject('prometheus', 'prom', {
      metrics: [{ name: 'bytes', kind: 'COUNTER', instanceName: 'requests.metric', labelNames: ['source', 'service', 'code'] }],
    }),
  ];
  return [...shared, ...own, ...reports].map((object) => JSON.stringify(object)).join('\n---\n');
}

/** What a sidecar tells of a request. */
function attributes(service: number): Uint8Array {
  const word = (text: string): number => GLOBAL_WORDS.indexOf(text);
  const words = [
    '10.1.2.3',
    `service-${service}.shop.svc.cluster.local`,
    '/cart/items/42',
    'shop.example.com',
    'curl/8',
    'sleep',
    'x-user',
    'me',
  ];
  return compressed({
    words,
    strings: [
      [word('destination.service'), -2],
      [word('request.path'), -3],
      [word('request.host'), -4],
      [word('request.method'), word('GET')],
      [word('request.scheme'), word('http')],
      [word('request.useragent'), -5],
      [word('source.namespace'), -6],
      [word('context.protocol'), word('http')],
    ],
    int64s: [
      [word('request.size'), 128n],
      [word('response.code'), 200n],
      [word('response.size'), 4096n],
      [word('destination.port'), 8080n],
    ],
    bools: [[word('connection.mtls'), true]],
    timestamps: [[word('request.time'), [1_700_000_000n, 5]]],
    durations: [[word('response.duration'), [0n, 12_000_000]]],
    bytes: [[word('source.ip'), [10, 1, 2, 3]]],
    string_maps: [
      [
        word('request.headers'),
        [
          [word('host'), -4],
          [word('user-agent'), -5],
          [-7, -8],
        ],
      ],
    ],
  });
}

function message(service: number, kind: 'check' | 'report'): Buffer {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).bytes(attributes(service));
  writer.tag(kind === 'check' ? 2 : 3, WireType.Varint).uint32(GLOBAL_WORDS.length);
  const body = writer.finish();
  const header = Buffer.alloc(5);
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
}

function call(session: ClientHttp2Session, path: string, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
    let status: unknown;
    stream.on('response', (headers) => {
      status = headers['grpc-status'] ?? status;
    });
    stream.on('trailers', (trailers) => {
      status = trailers['grpc-status'];
    });
    stream.on('error', reject);
    stream.on('close', () => (status === '0' ? resolve() : reject(new Error(`status ${String(status)}`))));
    stream.resume();
    stream.end(body);
  });
}

interface Row {
  readonly 'per s': number;
  readonly 'per s of CPU': number;
  readonly 'p50 ms': number;
  readonly 'p99 ms': number;
}

/** Calls as fast as answers come, or at a steady rate a second. */
async function measure(child: ChildProcess, run: () => Promise<void>, steadyRate?: number): Promise<Row> {
  const times: number[] = [];
  const timed = async (): Promise<void> => {
    const begin = performance.now();
    await run();
    times.push(performance.now() - begin);
  };
  const repeat = async (ms: number): Promise<void> => {
    const end = performance.now() + ms;
    const worker = async (): Promise<void> => {
      while (performance.now() < end) await timed();
    };
    if (steadyRate === undefined) {
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      return;
    }
    const calls: Promise<void>[] = [];
    const begin = performance.now();
    for (let sent = 0; performance.now() < end; await new Promise(setImmediate)) {
      for (; sent < ((performance.now() - begin) / 1000) * steadyRate; sent++) calls.push(timed());
    }
    await Promise.all(calls);
  };
  await repeat(WARM_UP_MS);
  times.length = 0;
  const [cpu, begin] = [cpuSecondsOf(child), performance.now()];
  await repeat(measureMs);
  const wall = (performance.now() - begin) / 1000;
  const sorted = times.toSorted((a, b) => a - b);
  const at = (quantile: number): number => Number((sorted[Math.floor(quantile * sorted.length)] ?? Number.NaN).toFixed(2));
  return {
    'per s': Math.round(times.length / wall),
    'per s of CPU': Math.round(times.length / (cpuSecondsOf(child) - cpu)),
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
  };
}

function cpuSecondsOf({ pid }: ChildProcess): number {
  // After the name in parentheses: state is field 3, user and system time are fields 14 and 15.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

const residentMb = ({ pid }: ChildProcess): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);

async function withServer(
  count: number,
  use: (child: ChildProcess, next: () => ClientHttp2Session) => Promise<void>,
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'mesh-bench-mixs-'));
  writeFileSync(join(dir, 'rules.yaml'), rules(count));
  const [port, monitoringPort] = [await freePort(), await freePort()];
  const words = ['mixs', 'server', `--configStoreURL=fs://${dir}`, `--port=${port}`, `--monitoringPort=${monitoringPort}`];
  const child = spawn('bin/mesh', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`mixs ended with ${code}`)));
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('serving')) resolve();
    });
  });
  const sessions = Array.from({ length: CONNECTIONS }, () => connect(`http://127.0.0.1:${port}`));
  let turn = 0;
  try {
    await use(child, () => sessions[turn++ % CONNECTIONS] as ClientHttp2Session);
  } finally {
    for (const session of sessions) session.destroy();
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(dir, { recursive: true, force: true });
  }
}

function expressions(): Readonly<Record<string, { readonly 'per s of CPU': number }>> {
  const compile = expressionCompiler(vocabularyWith(new Map()));
  const bag = bagOf({
    'destination.service': 'a.foo.svc.cluster.local',
    'source.namespace': 'foo',
    'request.path': '/api/v1/items',
    'request.headers': new Map([['x-user', 'me']]),
  });
  const texts = [
    'destination.service == "a.foo.svc.cluster.local" && source.namespace != "bar"',
    'request.headers["x-user"] == "me" || request.path.startsWith("/api/")',
    '"^/api/v[12]/".matches(request.path)',
  ];
  const count = 1_000_000;
  return Object.fromEntries(
    texts.map((text) => {
      const { evaluate } = compile(text, 'BOOL');
      for (let index = 0; index < count / 10; index++) evaluate(bag);
      const begin = process.cpuUsage();
      for (let index = 0; index < count; index++) evaluate(bag);
      const { user, system } = process.cpuUsage(begin);
      return [text, { 'per s of CPU': Math.round(count / ((user + system) / 1e6)) }];
    }),
  );
}

process.stdout.write('mixs: evaluations of expressions\n');
console.table(expressions());
const rows: Record<string, Row | { readonly 'resident MB': number }> = {};
for (const count of [10, 100, 1_000]) {
  await withServer(count, async (child, session) => {
    const [check, report] = [message(count - 1, 'check'), message(count - 1, 'report')];
    const checks = await measure(child, () => call(session(), '/istio.mixer.v1.Mixer/Check', check));
    rows[`check, rules for ${count} services`] = { ...checks, 'resident MB': residentMb(child) };
    if (count === 100) {
      const half = Math.round(checks['per s'] / 2);
      rows[`check, at ${half} a second`] = await measure(
        child,
        () => call(session(), '/istio.mixer.v1.Mixer/Check', check),
        half,
      );
    }
    rows[`report, rules for ${count} services`] = await measure(child, () =>
      call(session(), '/istio.mixer.v1.Mixer/Report', report),
    );
  });
}
process.stdout.write('mixs: requests over gRPC\n');
console.table(rows);
