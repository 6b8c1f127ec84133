/**
 * Reviews a second of the injection webhook for a typical pod: its handler in this process, and a real sidecar-injector over HTTPS, by
 * wall clock and by CPU time of the process that injects. The client is a process of its own. Prints a table; run it with `node bench/injection.ts [seconds]`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
import { quantiles } from './load/job.ts';
import { load, type Measured } from './load/run.ts';

const HOST = 'mesh-sidecar-injector.mesh-system.svc';
const WARM_UP_MS = 2_000;
const IDLE_MS = 3_000;
const measureMs = Number(process.argv[2] ?? 3) * 1000;
/** Requests a second of moderate load. */
const MODERATE_RATE = 200;
const HALF_THE_AIM = 1_000;
const REVIEWS = Array.from({ length: 1_000 }, (_, index) => typicalReview(`cart-${index}`));
const oneWorkload = (): string => REVIEWS[0] ?? '';
let turn = 0;
const eachItsOwn = (): string => REVIEWS[turn++ % REVIEWS.length] ?? '';

interface Row {
  readonly 'per s'?: number;
  readonly 'per s of CPU'?: number;
  readonly 'p50 ms'?: number;
  readonly 'p99 ms'?: number;
  /** Of the time that it was measured, how much the main thread of the server had no core. */
  readonly 'without a core'?: string;
  readonly 'resident MiB'?: number;
}

/** Runs `run` again and again, after a warm-up. */
async function measure(run: () => Promise<unknown>): Promise<Row> {
  const times: number[] = [];
  const repeat = async (ms: number): Promise<void> => {
    const end = performance.now() + ms;
    for (let begin = performance.now(); begin < end; begin = performance.now()) {
      await run();
      times.push(performance.now() - begin);
    }
  };
  await repeat(WARM_UP_MS);
  times.length = 0;
  const [cpu, begin] = [process.cpuUsage(), performance.now()];
  await repeat(measureMs);
  const wallMs = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  return rowOf({ answered: times.length, wallMs, latency: quantiles(times), cpu: (user + system) / 1e6 });
}

function rowOf({ answered, wallMs, latency, cpu }: Pick<Measured, 'answered' | 'wallMs' | 'latency' | 'cpu'>): Row {
  return {
    'per s': Math.round(answered / (wallMs / 1000)),
    'per s of CPU': Math.round(answered / cpu),
    'p50 ms': latency.p50,
    'p99 ms': latency.p99,
  };
}

async function inProcess(body: () => string): Promise<Row> {
  const context = fakeInjection();
  const handle = injectHandler(() => context, new MemoryLogger());
  return measure(async () =>
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
    const target = {
      protocol: 'HTTP/1.1',
      port,
      path: '/inject',
      fields: [['content-type', 'application/json']],
      tls: { ca: files.ca, name: HOST },
    } as const;
    for (const [what, connections, reviews, perSecond] of [
      ['one workload, 8 connections', 8, REVIEWS.slice(0, 1), undefined],
      ['1,000 workloads, 1 connection', 1, REVIEWS, undefined],
      ['1,000 workloads, 8 connections', 8, REVIEWS, undefined],
      ['1,000 workloads, 32 connections', 32, REVIEWS, undefined],
      [`1,000 workloads, ${MODERATE_RATE} a second`, 8, REVIEWS, MODERATE_RATE],
      [`1,000 workloads, ${HALF_THE_AIM} a second`, 8, REVIEWS, HALF_THE_AIM],
    ] as const) {
      const measured = await load(child.pid ?? Number.NaN, {
        target,
        connections,
        messages: reviews.map((text) => Buffer.from(text).toString('base64')),
        load: perSecond === undefined ? { atOnce: connections } : { perSecond },
        warmUpMs: WARM_UP_MS,
        measureMs,
      });
      const withoutCore = `${Math.round((measured.waited / (measured.wallMs / 1000)) * 100)} %`;
      rows[`HTTPS, ${what}`] = { ...rowOf(measured), 'without a core': withoutCore };
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

function residentMib({ pid }: ChildProcess): number {
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
}

process.stdout.write(`injection of a typical pod (${oneWorkload().length} bytes of review)\n`);
console.table({
  'in process, one workload': await inProcess(oneWorkload),
  'in process, 1,000 workloads': await inProcess(eachItsOwn),
  ...(await overHttps()),
});
