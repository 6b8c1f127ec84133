/** mesh_ca on a real API server with 1,000 service accounts: until all have their Secret, and what a start costs when they have. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startCluster } from '../setup/cluster/cluster.ts';
import { findClusterPrograms } from '../setup/cluster/programs.ts';
import { openKubeconfig } from '../src/io/kubernetes/open-client.ts';
import { printRow } from './figures.ts';
import { residentMiB } from './resident.ts';

const ACCOUNTS = 1_000;
const NAMESPACES = 20;
const AT_ONCE = 16;
/** The cluster's own accounts get Secrets too. */
const SECRETS = '/api/v1/secrets';
const SELECTOR = { fieldSelector: 'type=mesh.io/key-and-cert' };
const POLL_MS = 200;
const SETTLE_MS = 10_000;
const CLOCK_TICKS = 100;

const programs = findClusterPrograms(process.env);
if (programs === undefined) process.stdout.write('ca-secrets: not measured: the programs of the test cluster are missing\n');
else await measure(programs);

async function measure(programs: NonNullable<ReturnType<typeof findClusterPrograms>>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'mesh-bench-cluster-'));
  const cluster = await startCluster({ programs, directory, lifetime: 'with-parent' });
  const client = openKubeconfig(cluster.kubeconfig, { flag: '--orch-config', env: {}, now: () => new Date() });
  try {
    const create = (path: string, kind: string, name: string): Promise<unknown> =>
      client.request({ method: 'POST', path, body: { apiVersion: 'v1', kind, metadata: { name } }, what: `create ${name}` });
    for (const index of indexes(NAMESPACES)) await create('/api/v1/namespaces', 'Namespace', `bench-${index}`);
    await create('/api/v1/namespaces', 'Namespace', 'mesh-system');
    await eachAtOnce(ACCOUNTS - NAMESPACES, (index) =>
      create(`/api/v1/namespaces/bench-${index % NAMESPACES}/serviceaccounts`, 'ServiceAccount', `account-${index}`),
    );
    const count = async (path: string, query: Readonly<Record<string, string>>): Promise<number> => {
      const { items, metadata } = (await client.request({ method: 'GET', path, query, what: 'count' })) as {
        readonly items: readonly unknown[];
        readonly metadata: { readonly remainingItemCount?: number };
      };
      return items.length + (metadata.remainingItemCount ?? 0);
    };
    const accounts = await count('/api/v1/serviceaccounts', { limit: '1' });
    const secrets = (): Promise<number> => count(SECRETS, SELECTOR);
    for (const round of ['all made', 'all there']) {
      const started = performance.now();
      const ca = await startAuthority(cluster.kubeconfig);
      while ((await secrets()) < accounts) await sleep(POLL_MS);
      if (round === 'all there') await sleep(SETTLE_MS);
      const pid = ca.child.pid ?? 0;
      const took = ((performance.now() - started) / 1000).toFixed(1);
      const peak = peakMiB(pid).toFixed(0);
      const figures = `${took} s  CPU ${cpuSeconds(pid).toFixed(1)} s  peak ${peak} MiB  now ${residentMiB(pid).toFixed(0)} MiB  secrets issued ${ca.issued()}`;
      printRow(`mesh_ca, ${accounts} service accounts: ${round}`, figures);
      ca.child.kill('SIGTERM');
      await once(ca.child, 'exit');
    }
  } finally {
    client.close();
    cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Running {
  readonly child: ChildProcess;
  issued(): number;
}

/** Resolves when it leads. */
async function startAuthority(kubeconfig: string): Promise<Running> {
  const mesh = fileURLToPath(new URL('../bin/mesh', import.meta.url));
  const args = ['mesh_ca', '--self-signed-ca', '--orch-config', kubeconfig, '--grpc-port', '0', '--append-dns-names'];
  const child = spawn(mesh, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let issued = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  createInterface(child.stdout).on('line', (line) => {
    if (line.includes('secret of a service account issued')) issued += 1;
    if (line.includes('this replica leads')) resolve();
  });
  child.once('exit', (code) => reject(new Error(`mesh_ca ended with ${code}`)));
  await promise;
  return { child, issued: () => issued };
}

function peakMiB(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024;
}

/** User and system time, all threads. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}

function indexes(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

async function eachAtOnce(count: number, run: (index: number) => Promise<unknown>): Promise<void> {
  const pending = [...indexes(count)];
  const worker = async (): Promise<void> => {
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) await run(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
