import type { Host } from '../io/host.ts';
import { kindsFor } from '../model/kinds.ts';
import type { KubeObject } from '../model/object.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { podView } from './controllers/pod-view.ts';
import { Fields } from './kubelet/fields.ts';
import { whyNotReady } from './pod-readiness.ts';
import type { LabHealth } from './run-state.ts';

export interface LabStatus {
  readonly controlPlane: LabHealth['components'];
  readonly pods: readonly PodRow[];
}

export interface PodRow {
  readonly namespace: string;
  readonly name: string;
  /** Ready containers of all: `1/2`. */
  readonly ready: string;
  /** The phase, or why the pod is not ready. */
  readonly status: string;
  readonly restarts: number;
  readonly ip: string;
  readonly ageSeconds: number;
  readonly message: string;
}

export async function labStatus(store: ObjectStore, health: LabHealth | undefined, { names, now }: Host): Promise<LabStatus> {
  const pods = await store.list(kindsFor(names).pod);
  return { controlPlane: health?.components ?? [], pods: pods.map((pod) => podRow(pod, now())) };
}

function podRow(pod: KubeObject, now: Date): PodRow {
  const view = podView(pod);
  const status = new Fields(pod['status'], 'status', []);
  const containers = status.list('containerStatuses');
  const all = [...status.list('initContainerStatuses'), ...containers];
  const waiting = all
    .map((container) => container.object('state').object('waiting').string('reason'))
    .find((reason) => reason !== undefined);
  const made = Date.parse(pod.metadata.creationTimestamp ?? '');
  return {
    namespace: view.namespace,
    name: view.name,
    ready: `${containers.filter((container) => container.boolean('ready')).length}/${containers.length}`,
    status: view.ready ? 'Running' : (waiting ?? view.phase ?? 'Pending'),
    restarts: all.reduce((sum, container) => sum + (container.integer('restartCount') ?? 0), 0),
    ip: view.podIp ?? '',
    ageSeconds: Number.isNaN(made) ? 0 : Math.max(0, Math.floor((now.getTime() - made) / 1_000)),
    message: view.ready ? '' : (whyNotReady(pod) ?? ''),
  };
}

/** Aligned columns, as kubectl prints them. */
export function statusTable({ controlPlane, pods }: LabStatus): string {
  const components = controlPlane.map(({ name, ready, restarts, message }) => [
    name,
    ready ? 'ready' : 'not ready',
    `${restarts}`,
    message,
  ]);
  const rows = pods.map(({ namespace, name, ready, status, restarts, ip, ageSeconds }) => [
    namespace,
    name,
    ready,
    status,
    `${restarts}`,
    ip || '<none>',
    age(ageSeconds),
  ]);
  const reasons = pods.flatMap(({ namespace, name, message }) => (message === '' ? [] : [`${namespace}/${name}: ${message}`]));
  return [
    table([['CONTROL PLANE', 'STATUS', 'RESTARTS', ''], ...components]),
    '',
    rows.length === 0 ? 'No pods.' : table([['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'IP', 'AGE'], ...rows]),
    ...(reasons.length === 0 ? [] : ['', ...reasons]),
    '',
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}

/** `45s`, `12m`, `5h`, `3d`. */
function age(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
