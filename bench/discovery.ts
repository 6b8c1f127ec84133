/** pilot-discovery under the load driver: 1,000 services, 100 and 1,000 proxies, state of the world and delta. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from '../test/harness/free-port.ts';
import { type Adsload, findAdsload } from './adsload.ts';
import { type AdsloadReport, rowsOf } from './adsload-report.ts';
import { printRow } from './figures.ts';
import { residentMiB } from './resident.ts';

const SERVICES = 1_000;
const RUNS = [
  ['sotw', 100],
  ['sotw', 1_000],
  ['delta', 100],
  ['delta', 1_000],
] as const;

export async function benchDiscovery(): Promise<void> {
  const adsload = findAdsload(process.env);
  if (typeof adsload === 'string') {
    process.stdout.write(`discovery: not measured: ${adsload}\n`);
    return;
  }
  for (const [mode, clients] of RUNS) await measure(adsload, mode, clients);
}

/** Each run has a server and manifests of its own: the changes of one stay in its files. */
async function measure({ program, generator }: Adsload, mode: string, clients: number): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'mesh-bench-'));
  try {
    await promisify(execFile)('python3', [generator, dir, String(SERVICES)]);
    const port = await freePort();
    const started = performance.now();
    const server = await startServer(join(dir, 'cfg'), port);
    try {
      const startedIn = performance.now() - started;
      const pid = server.pid ?? 0;
      if (mode === 'sotw' && clients === 100) {
        printRow(`start to serving ${SERVICES} services`, `${startedIn.toFixed(0)} ms  ${residentMiB(pid).toFixed(0)} MiB`);
      }
      const args = ['-addr', `127.0.0.1:${port}`, '-mode', mode, '-clients', String(clients), '-server-pid', String(pid)];
      const { stdout } = await promisify(execFile)(program, [...args, '-changes', join(dir, 'changes.json')], {
        maxBuffer: 1 << 26,
      });
      const report: AdsloadReport = JSON.parse(stdout);
      for (const [name, figures] of rowsOf(report)) printRow(`${SERVICES} x ${clients} ${mode}: ${name}`, figures);
    } finally {
      await stop(server);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Resolves when it serves. */
async function startServer(config: string, port: number): Promise<ChildProcess> {
  const [http, monitoring] = [await freePort(), await freePort()];
  const addresses = ['--grpcAddr', `127.0.0.1:${port}`, '--port', String(http), '--monitoringPort', String(monitoring)];
  const server = spawn('bin/mesh', ['pilot-discovery', 'discovery', '--orchconfig', config, ...addresses], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    if (!line.includes('serving discovery')) continue;
    server.stdout.resume();
    return server;
  }
  throw new Error('pilot-discovery ended before it served');
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGTERM');
  await exited;
}
