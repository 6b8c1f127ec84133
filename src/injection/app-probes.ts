/**
 * Probes of the application, moved to the sidecar's status port: the kubelet has no certificate of the mesh, so that a port
 * which requires mutual TLS would reset its connections.
 */
import { isNativeSidecar, type NamedItem, type PodSpec } from './pod.ts';
import { isRecord, type JsonObject } from './shape.ts';

/** The kinds of probes, and what the path of each ends with. */
const PROBES = { livenessProbe: 'livez', readinessProbe: 'readyz', startupProbe: 'startupz' } as const;
type ProbeField = keyof typeof PROBES;
const PROBE_FIELDS = Object.keys(PROBES) as readonly ProbeField[];
/** What goes over the network; `exec` probes work as they are. */
const ACTIONS = ['httpGet', 'tcpSocket', 'grpc'] as const;
/** Those of the proxy itself. */
const OWN_PORTS: readonly number[] = [15020, 15090];

/** What the agent is told of each moved probe: its action, the port being a number, and its time-out. */
export type MovedProbes = Readonly<Record<string, JsonObject>>;

/** A list of containers. */
type ContainerList = 'containers' | 'initContainers';

/**
 * The spec with the probes of these lists turned to the status port, and what they were. Probes of init containers that end
 * stay (they have none that counts), and so do those of other hosts and those that name a port which there is not.
 */
export function moveProbes(
  spec: PodSpec,
  lists: readonly ContainerList[],
  statusPort: number,
): { readonly spec: PodSpec; readonly moved: MovedProbes } {
  const moved: Record<string, JsonObject> = {};
  const move = (probe: JsonObject, field: ProbeField, container: NamedItem): JsonObject => {
    const action = movableAction(probe, container, statusPort);
    if (action === undefined) return probe;
    const path = pathOf(container.name, field);
    const { timeoutSeconds } = probe;
    moved[path] = { ...action, ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }) };
    return { ...withoutActions(probe), httpGet: { path, port: statusPort } };
  };
  const changed = mapProbes(spec, lists, move);
  return Object.keys(moved).length === 0 ? { spec, moved } : { spec: changed, moved };
}

/** The opposite. A probe that somebody has changed since stays as it is now. */
export function restoreProbes(spec: PodSpec, moved: MovedProbes): PodSpec {
  return mapProbes(spec, ['containers', 'initContainers'], (probe, field, container) => {
    const path = pathOf(container.name, field);
    const original = Object.hasOwn(moved, path) ? moved[path] : undefined;
    const target = probe['httpGet'];
    if (original === undefined || !isRecord(target) || target['path'] !== path) return probe;
    const { timeoutSeconds: _, ...action } = original;
    return { ...withoutActions(probe), ...action };
  });
}

function mapProbes(
  spec: PodSpec,
  lists: readonly ContainerList[],
  change: (probe: JsonObject, field: ProbeField, container: NamedItem) => JsonObject,
): PodSpec {
  const mapped: Partial<Record<ContainerList, readonly NamedItem[]>> = {};
  for (const list of lists) {
    const containers = spec[list];
    if (!containers) continue;
    mapped[list] = containers.map((container) => {
      if (list === 'initContainers' && !isNativeSidecar(container)) return container;
      const probes = PROBE_FIELDS.flatMap((field) => {
        const probe = container[field];
        return isRecord(probe) ? [[field, change(probe, field, container)] as const] : [];
      });
      return probes.length === 0 ? container : { ...container, ...Object.fromEntries(probes) };
    });
  }
  return { ...spec, ...mapped };
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
