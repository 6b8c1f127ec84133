/**
 * Probes of the application, moved to the sidecar's status port: the kubelet has no certificate of the mesh, so that a port
 * which requires mutual TLS would reset its connections.
 */
import type { NamedItem, PodSpec } from './pod.ts';
import { isRecord, type JsonObject } from './shape.ts';

/** The kinds of probes, and what the path of each ends with. */
const PROBES = { livenessProbe: 'livez', readinessProbe: 'readyz', startupProbe: 'startupz' } as const;
type ProbeField = keyof typeof PROBES;
/** What goes over the network; `exec` probes work as they are. */
const ACTIONS = ['httpGet', 'tcpSocket', 'grpc'] as const;
/** Those of the proxy itself. */
const OWN_PORTS: readonly number[] = [15020, 15090];

/** What the agent is told of each moved probe: its action, the port being a number, and its time-out. */
export type MovedProbes = Readonly<Record<string, JsonObject>>;

/**
 * The spec with its probes turned to the status port, and what they were. Probes of init containers stay (the proxy does not
 * run yet), and so do those of other hosts and those that name a port which there is not.
 */
export function moveProbes(spec: PodSpec, statusPort: number): { readonly spec: PodSpec; readonly moved: MovedProbes } {
  const moved: Record<string, JsonObject> = {};
  const containers = spec.containers.map((container) => {
    const changed: Record<string, unknown> = { ...container };
    for (const field of Object.keys(PROBES) as ProbeField[]) {
      const probe = container[field];
      const action = isRecord(probe) ? movableAction(probe, container, statusPort) : undefined;
      if (!isRecord(probe) || action === undefined) continue;
      const path = pathOf(container.name, field);
      const { timeoutSeconds } = probe;
      moved[path] = { ...action, ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }) };
      changed[field] = { ...withoutActions(probe), httpGet: { path, port: statusPort } };
    }
    return changed as NamedItem;
  });
  return Object.keys(moved).length === 0 ? { spec, moved } : { spec: { ...spec, containers }, moved };
}

/** The opposite. A probe that somebody has changed since stays as it is now. */
export function restoreProbes(spec: PodSpec, moved: MovedProbes): PodSpec {
  const containers = spec.containers.map((container) => {
    const changed: Record<string, unknown> = { ...container };
    for (const field of Object.keys(PROBES) as ProbeField[]) {
      const probe = container[field];
      const path = pathOf(container.name, field);
      const original = Object.hasOwn(moved, path) ? moved[path] : undefined;
      if (!isRecord(probe) || original === undefined) continue;
      const target = probe['httpGet'];
      if (!isRecord(target) || target['path'] !== path) continue;
      const { timeoutSeconds: _, ...action } = original;
      changed[field] = { ...withoutActions(probe), ...action };
    }
    return changed as NamedItem;
  });
  return { ...spec, containers };
}

const pathOf = (container: string, field: ProbeField): string => `/app-health/${container}/${PROBES[field]}`;

function withoutActions(probe: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(probe).filter(([name]) => !ACTIONS.some((action) => action === name)));
}

function movableAction(probe: JsonObject, container: NamedItem, statusPort: number): JsonObject | undefined {
  for (const kind of ACTIONS) {
    const action = probe[kind];
    if (!isRecord(action)) continue;
    const port = portNumber(action['port'], container);
    if (port === undefined || port === statusPort || OWN_PORTS.includes(port)) return undefined;
    return isHost(action['host']) ? undefined : { [kind]: { ...action, port } };
  }
  return undefined;
}

const isHost = (host: unknown): boolean => host !== undefined && host !== null && host !== '';

function portNumber(port: unknown, container: NamedItem): number | undefined {
  if (typeof port === 'number') return isPort(port) ? port : undefined;
  if (typeof port !== 'string') return undefined;
  const ports = container['ports'];
  const named = Array.isArray(ports) ? ports.find((each) => isRecord(each) && each['name'] === port) : undefined;
  const number = isRecord(named) ? named['containerPort'] : Number(port);
  return typeof number === 'number' && isPort(number) ? number : undefined;
}

const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;
