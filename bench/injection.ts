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
import { DEFAULT_INJECTION_CONFIG } from '../src/injection/default-config.ts';
import { validityFrom } from '../src/io/x509/template.ts';
import { seconds } from '../src/lib/duration.ts';
import { injectHandler } from '../src/sidecar-injector/webhook.ts';
import { httpRequest } from '../test/fakes/http-request.ts';
import { fakeInjection } from '../test/fakes/injection.ts';
import { MemoryLogger } from '../test/fakes/memory-logger.ts';
import { keyPemOf, pemOf } from '../test/harness/authority-files.ts';
import { freePort } from '../test/harness/ca-process.ts';
import { DAY, leafTemplate, makeRoot, signLeaf } from '../test/harness/certificates.ts';
import { typicalReview } from './admission-review.ts';

const HOST = 'mesh-sidecar-injector.mesh-system.svc';
const WARM_UP_MS = 2_000;
/** Of /proc/<pid>/stat, on every Linux that there is. */
const TICKS_PER_SECOND = 100;
const measureMs = Number(process.argv[2] ?? 3) * 1000;
const body = typicalReview();

interface Row {
  readonly 'per s': number;
  readonly 'per s of CPU': number;
  readonly 'p50 ms': number;
  readonly 'p99 ms': number;
}

/** Runs `run` by so many at once, after a warm-up; `cpuSeconds` tells of the process that does the work. */
async function measure(atOnce: number, cpuSeconds: () => number, run: () => Promise<unknown>): Promise<Row> {
  const times: number[] = [];
  const repeat = async (ms: number): Promise<void> => {
    const end = performance.now() + ms;
    const worker = async (): Promise<void> => {
      for (let begin = performance.now(); begin < end; ) {
        await run();
        const now = performance.now();
        times.push(now - begin);
        begin = now;
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

async function inProcess(): Promise<Row> {
  const context = fakeInjection();
  const handle = injectHandler(() => context, new MemoryLogger());
  const ownCpu = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  return measure(1, ownCpu, async () =>
    handle(httpRequest('POST /inject', { headers: { 'content-type': 'application/json' }, body })),
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
    const rows: Record<string, Row> = {};
    for (const connections of [1, 8, 32]) {
      const agent = new Agent({ keepAlive: true, maxSockets: connections, ca: files.ca, servername: HOST });
      rows[`HTTPS, ${connections} connections`] = await measure(
        connections,
        () => cpuSecondsOf(child),
        () => post(port, agent),
      );
      agent.destroy();
    }
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

function post(port: number, agent: Agent): Promise<void> {
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

function cpuSecondsOf({ pid }: ChildProcess): number {
  // After the name in parentheses: state is field 3, user and system time are fields 14 and 15.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

process.stdout.write(`injection of a typical pod (${body.length} bytes of review)\n`);
console.table({ 'in process': await inProcess(), ...(await overHttps()) });
