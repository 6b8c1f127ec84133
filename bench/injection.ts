/**
 * Reviews a second of the injection webhook for a typical pod: its handler in this process, and a real sidecar-injector over HTTPS, by
 * wall clock and by CPU time of the process that injects. Prints a table; run it with `node bench/injection.ts [seconds]`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_INJECTION_CONFIG } from '../src/injection/default-config.ts';
import { validityFrom } from '../src/io/x509/template.ts';
import { seconds } from '../src/lib/duration.ts';
import { injectHandler } from '../src/sidecar-injector/webhook.ts';
import { httpRequest } from '../test/fakes/http-request.ts';
import { fakeInjection } from '../test/fakes/injection.ts';
import { MemoryLogger } from '../test/fakes/memory-logger.ts';
import { keyPemOf, pemOf } from '../test/harness/authority-files.ts';
import { DAY, leafTemplate, makeRoot, signLeaf } from '../test/harness/certificates.ts';
import { freePort } from '../test/harness/free-port.ts';
import { typicalReview } from './admission-review.ts';

const HOST = 'mesh-sidecar-injector.mesh-system.svc';
const WARM_UP_MS = 2_000;
const IDLE_MS = 3_000;
/** Of /proc/<pid>/stat, on every Linux that there is. */
const TICKS_PER_SECOND = 100;
const measureMs = Number(process.argv[2] ?? 3) * 1000;
/** Requests a second of moderate load. */
const MODERATE_RATE = 200;
const REVIEWS = Array.from({ length: 1_000 }, (_, index) => typicalReview(`cart-${index}`));
const oneWorkload = (): string => REVIEWS[0] ?? '';
let turn = 0;
const eachItsOwn = (): string => REVIEWS[turn++ % REVIEWS.length] ?? '';

interface Row {
  readonly 'per s'?: number;
  readonly 'per s of CPU'?: number;
  readonly 'p50 ms'?: number;
  readonly 'p99 ms'?: number;
  readonly 'resident MiB'?: number;
}

/**
 * Runs `run` by so many at once, after a warm-up, each again when it is done and `paceMs` have gone by; `cpuSeconds` tells of the process
 * that does the work.
 */
async function measure(atOnce: number, cpuSeconds: () => number, run: () => Promise<unknown>, paceMs = 0): Promise<Row> {
  const times: number[] = [];
  const repeat = async (ms: number): Promise<void> => {
    const end = performance.now() + ms;
    const worker = async (): Promise<void> => {
      for (let begin = performance.now(); begin < end; ) {
        await run();
        const now = performance.now();
        times.push(now - begin);
        if (paceMs > 0) await sleep(Math.max(begin + paceMs - now, 0));
        begin = performance.now();
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  };
  await repeat(WARM_UP_MS);
  times.length = 0;
  const [cpu, begin] = [cpuSeconds(), performance.now()];
  await repeat(measureMs);
  const wall = (performance.now() - begin) / 1000;
  const sorted = times.toSorted((a, b) => a - b);
  const at = (quantile: number): number => Number((sorted[Math.floor(quantile * sorted.length)] ?? Number.NaN).toFixed(2));
  return {
    'per s': Math.round(times.length / wall),
    'per s of CPU': Math.round(times.length / (cpuSeconds() - cpu)),
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
  };
}

async function inProcess(body: () => string): Promise<Row> {
  const context = fakeInjection();
  const handle = injectHandler(() => context, new MemoryLogger());
  const ownCpu = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  return measure(1, ownCpu, async () =>
    handle(httpRequest('POST /inject', { headers: { 'content-type': 'application/json' }, body: body() })),
  );
}

async function overHttps(): Promise<Readonly<Record<string, Row>>> {
  const dir = mkdtempSync(join(tmpdir(), 'mesh-bench-injector-'));
  const root = await makeRoot('ec-p256', validityFrom(new Date(), seconds(DAY)));
  const leaf = await signLeaf(
    root,
    leafTemplate(root.pair, { ...validityFrom(new Date(), seconds(DAY)), names: [{ type: 'dns', value: HOST }] }),
  );
  const files = { inject: DEFAULT_INJECTION_CONFIG, mesh: '{}', cert: leaf.toString(), key: keyPemOf(root), ca: pemOf(root) };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const port = await freePort();
  const child = await start(dir, port);
  try {
    await sleep(IDLE_MS);
    const rows: Record<string, Row> = { idle: { 'resident MiB': residentMib(child) } };
    for (const [what, connections, body, paceMs] of [
      ['one workload, 8 connections', 8, oneWorkload, 0],
      ['1,000 workloads, 1 connection', 1, eachItsOwn, 0],
      ['1,000 workloads, 8 connections', 8, eachItsOwn, 0],
      ['1,000 workloads, 32 connections', 32, eachItsOwn, 0],
      [`1,000 workloads, ${MODERATE_RATE} a second`, 8, eachItsOwn, (8 * 1000) / MODERATE_RATE],
    ] as const) {
      const agent = new Agent({ keepAlive: true, maxSockets: connections, ca: files.ca, servername: HOST });
      const send = (): Promise<void> => post(port, agent, body());
      rows[`HTTPS, ${what}`] = await measure(connections, () => cpuSecondsOf(child), send, paceMs);
      agent.destroy();
    }
    rows['after it'] = { 'resident MiB': residentMib(child) };
    return rows;
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The built one, as it is run: `npm run build` first. */
async function start(dir: string, port: number): Promise<ChildProcess> {
  const flags = { injectConfig: 'inject', meshConfig: 'mesh', tlsCertFile: 'cert', tlsKeyFile: 'key', caCertFile: 'ca' };
  const words = Object.entries(flags).map(([name, file]) => `--${name}=${join(dir, file)}`);
  const child = spawn('bin/mesh', ['sidecar-injector', ...words, `--orchconfig=${dir}`, `--port=${port}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`sidecar-injector ended with ${code}`)));
    child.stdout.on('data', (chunk) => {
      if (String(chunk).includes('serving the injection webhook')) resolve();
    });
  });
  return child;
}

function post(port: number, agent: Agent, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const call = request({ host: '127.0.0.1', port, path: '/inject', method: 'POST', agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.resume();
      response.on('end', resolve);
    });
    call.on('error', reject);
    call.end(body);
  });
}

function residentMib({ pid }: ChildProcess): number {
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
}

function cpuSecondsOf({ pid }: ChildProcess): number {
  // After the name in parentheses: state is field 3, user and system time are fields 14 and 15.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

process.stdout.write(`injection of a typical pod (${oneWorkload().length} bytes of review)\n`);
console.table({
  'in process, one workload': await inProcess(oneWorkload),
  'in process, 1,000 workloads': await inProcess(eachItsOwn),
  ...(await overHttps()),
});
