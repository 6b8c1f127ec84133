/**
 * pilot-discovery on a real API server with 5,000 services of 4 endpoints: from its start until it is ready, and what it holds then.
 * `node bench/registry.ts pods` makes a pod with a sidecar of each endpoint, which takes several times as long.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster } from '../setup/cluster/cluster.ts';
import { findClusterPrograms } from '../setup/cluster/programs.ts';
import type { KubernetesClient } from '../src/io/kubernetes/client.ts';
import { openKubeconfig } from '../src/io/kubernetes/open-client.ts';
import { printFigures, printRow } from './figures.ts';
import { residentMiB } from './resident.ts';

const NAMESPACES = 50;
const SERVICES = 100;
const ENDPOINTS = 4;
const STARTS = 3;
/** Requests at a time while objects are made. */
const WRITERS = 24;
const POLL_MS = 5;
/** Garbage of the start is gone by then, and everything was listed anew once (--resync). */
const SETTLED_MS = 90_000;

const namespaces = Array.from({ length: NAMESPACES }, (_, index) => `team-${index}`);

async function populate(client: KubernetesClient, withPods: boolean): Promise<void> {
  const create =
    (path: string, body: object): (() => Promise<unknown>) =>
    () =>
      client.request({ method: 'POST', path, body, what: `create ${path}` });
  // The cluster's own range of addresses ends at 4,094 services.
  const range = { metadata: { name: 'more' }, spec: { cidrs: ['10.128.0.0/16'] } };
  await create('/apis/networking.k8s.io/v1/servicecidrs', range)();
  await inTurns(namespaces.map((name) => create('/api/v1/namespaces', { metadata: { name } })));
  await inTurns(namespaces.map((name) => create(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'app' } })));
  const numbered = namespaces.flatMap((namespace, team) =>
    Array.from({ length: SERVICES }, (_, index) => ({ namespace, team, index, name: `service-${index}` })),
  );
  await inTurns(
    numbered.flatMap(({ namespace, team, index, name }) => {
      const core = `/api/v1/namespaces/${namespace}`;
      const address = (at: number): string => `10.${100 + team}.${index}.${at + 1}`;
      const pods = Array.from({ length: withPods ? ENDPOINTS : 0 }, (_, at) => create(`${core}/pods`, pod(name, at)));
      return [
        ...pods,
        create(`${core}/services`, { metadata: { name }, spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }] } }),
        create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
          metadata: { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
          addressType: 'IPv4',
          ports: [{ name: 'http', port: 8080 }],
          endpoints: Array.from({ length: ENDPOINTS }, (_, at) => ({
            addresses: [address(at)],
            nodeName: `node-${at}`,
            zone: `zone-${at}`,
            targetRef: { kind: 'Pod', name: `${name}-${at}`, namespace },
          })),
        }),
      ];
    }),
  );
}

function pod(service: string, at: number): object {
  return {
    metadata: {
      name: `${service}-${at}`,
      labels: { app: service, version: 'v1', 'pod-template-hash': `${at}` },
      annotations: {
        'sidecar.mesh.io/status': '{"version":"0123456789abcdef","initContainers":["mesh-init"],"containers":["mesh-proxy"]}',
      },
    },
    spec: {
      serviceAccountName: 'app',
      containers: [
        { name: 'app', image: 'registry.example/app:1', ports: [{ name: 'http', containerPort: 8080 }] },
        { name: 'mesh-proxy', image: 'mesh/proxy', args: ['proxy', 'sidecar', '--bootstrapv2'] },
      ],
    },
  };
}

async function inTurns(tasks: readonly (() => Promise<unknown>)[]): Promise<void> {
  const queue = tasks[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const task of queue) await task();
  };
  await Promise.all(Array.from({ length: WRITERS }, worker));
}

interface Start {
  readonly readyMs: number;
  /** CPU time until then: what a busy machine does not stretch. */
  readonly cpuMs: number;
  readonly readyMiB: number;
  readonly settledMiB: number | undefined;
}

async function measureStart(kubeconfig: string, settle: boolean): Promise<Start> {
  const [http, grpc, monitoring] = [await freePort(), await freePort(), await freePort()];
  const args = [
    'pilot-discovery',
    'discovery',
    '--orchconfig',
    kubeconfig,
    '--port',
    `${http}`,
    '--grpcAddr',
    `127.0.0.1:${grpc}`,
  ];
  const started = performance.now();
  const child = spawn('bin/mesh', [...args, '--monitoringPort', `${monitoring}`], { stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    while (!(await isReady(http))) {
      if (child.exitCode !== null) throw new Error(`pilot-discovery ended with ${child.exitCode}`);
      await sleep(POLL_MS);
    }
    const readyMs = performance.now() - started;
    const cpuMs = cpuTimeMs(child.pid ?? 0);
    const readyMiB = residentMiB(child.pid ?? 0);
    if (settle) await sleep(SETTLED_MS);
    return { readyMs, cpuMs, readyMiB, settledMiB: settle ? residentMiB(child.pid ?? 0) : undefined };
  } finally {
    if (child.exitCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    }
  }
}

/** Of all threads of a process (proc(5): utime and stime, in ticks of 10 ms). */
function cpuTimeMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/ready`)).status === 200;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function measure(title: string, withPods: boolean): Promise<void> {
  const programs = findClusterPrograms(process.env);
  if (programs === undefined) return printRow(title, 'skipped: the programs of the test cluster are missing');
  const directory = mkdtempSync(join(tmpdir(), 'mesh-bench-registry-'));
  const cluster = await startCluster({ programs, directory, lifetime: 'with-parent' });
  const client = openKubeconfig(cluster.kubeconfig, { flag: '--orchconfig', env: {}, now: () => new Date() });
  try {
    await populate(client, withPods);
    const starts: Start[] = [];
    for (let run = 1; run <= STARTS; run += 1) starts.push(await measureStart(cluster.kubeconfig, run === STARTS));
    const mib = (value: number | undefined): string => `${value?.toFixed(0)} MiB`;
    printFigures(
      `${title}: start -> ready`,
      starts.map(({ readyMs }) => readyMs),
    );
    printFigures(
      `${title}: CPU time until then`,
      starts.map(({ cpuMs }) => cpuMs),
    );
    const peak = Math.max(...starts.map(({ readyMiB }) => readyMiB));
    printRow(`${title}: resident`, `${mib(peak)} when ready, ${mib(starts.at(-1)?.settledMiB)} after ${SETTLED_MS / 1_000} s`);
  } finally {
    client.close();
    cluster.stop();
  }
}

const title = `${NAMESPACES * SERVICES} services, ${NAMESPACES * SERVICES * ENDPOINTS} endpoints`;
if (process.argv.includes('pods')) await measure(`${title} with pods`, true);
else await measure(title, false);
