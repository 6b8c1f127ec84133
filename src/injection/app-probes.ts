/**
 * What the kubelet asks the application, probes and lifecycle hooks, moved to the sidecar's status port: the kubelet has no
 * certificate of the mesh, so that a port which requires mutual TLS would reset its connections.
 */
import { isNativeSidecar, type NamedItem, type PodSpec } from './pod.ts';
import { isRecord, type JsonObject } from './shape.ts';

/** The kinds of probes, and the end of the path that each is moved to. */
const PROBES = { livenessProbe: 'livez', readinessProbe: 'readyz', startupProbe: 'startupz' } as const;
/** The hooks of a container's `lifecycle`, likewise. */
const HOOKS = { postStart: 'poststart', preStop: 'prestop' } as const;
/** What goes over the network; `exec` works as it is. */
const ACTIONS = ['httpGet', 'tcpSocket', 'grpc'] as const;
type Action = (typeof ACTIONS)[number];
/** No kubelet runs hooks of the other kinds: they stay what they are, a mistake that its events tell of. */
const HOOK_ACTIONS: readonly Action[] = ['httpGet'];
/** Those of the proxy itself. */
const OWN_PORTS: readonly number[] = [15020, 15090];
/** Of a probe that says none. It is written down, or the API server's default would make another probe of it. */
const DEFAULT_TIMEOUT_SECONDS = 1;
/** The longest that the agent takes. */
const MAX_TIMEOUT_SECONDS = 3600;

/** What the agent is told of what was moved, by its new path: the action, the port being a number, and of probes the time-out. */
export type MovedHandlers = Readonly<Record<string, JsonObject>>;

/** A list of containers. */
type ContainerList = 'containers' | 'initContainers';

/** A probe or hook of a container, and the path that it is, or would be, moved to. */
interface Handler {
  readonly type: 'probe' | 'hook';
  readonly path: string;
  readonly value: JsonObject;
  readonly container: NamedItem;
}

/**
 * The spec with the probes and hooks of these lists turned to the status port, and what they were. Those of init containers that
 * end stay (they have none that counts), and so do those of other hosts, those that name a port which there is not, and those
 * that no HTTP request could be made of.
 */
export function moveHandlers(
  spec: PodSpec,
  lists: readonly ContainerList[],
  statusPort: number,
): { readonly spec: PodSpec; readonly moved: MovedHandlers } {
  const moved: Record<string, JsonObject> = {};
  const move = (handler: Handler): JsonObject => {
    const { type, path, value } = handler;
    const action = movableAction(handler, statusPort);
    if (action === undefined) return value;
    moved[path] = type === 'hook' ? action : { ...action, timeoutSeconds: timeoutOf(value) };
    return { ...withoutActions(value), httpGet: { path, port: statusPort } };
  };
  const changed = mapHandlers(spec, lists, move);
  return Object.keys(moved).length === 0 ? { spec, moved } : { spec: changed, moved };
}

/** The opposite. What somebody has changed since stays as it is now. */
export function restoreHandlers(spec: PodSpec, moved: MovedHandlers): PodSpec {
  return mapHandlers(spec, ['containers', 'initContainers'], ({ path, value }) => {
    const original = Object.hasOwn(moved, path) ? moved[path] : undefined;
    const target = value['httpGet'];
    if (original === undefined || !isRecord(target) || target['path'] !== path) return value;
    const { timeoutSeconds: _, ...action } = original;
    return { ...withoutActions(value), ...action };
  });
}

function mapHandlers(spec: PodSpec, lists: readonly ContainerList[], change: (handler: Handler) => JsonObject): PodSpec {
  const mapped: Partial<Record<ContainerList, readonly NamedItem[]>> = {};
  for (const list of lists) {
    const containers = spec[list];
    if (!containers) continue;
    mapped[list] = containers.map((container) => {
      if (list === 'initContainers' && !isNativeSidecar(container)) return container;
      const probes = mapFields(container, PROBES, (value, end) =>
        change({ type: 'probe', path: `/app-health/${container.name}/${end}`, value, container }),
      );
      const lifecycle = isRecord(container['lifecycle']) ? container['lifecycle'] : {};
      const hooks = mapFields(lifecycle, HOOKS, (value, end) =>
        change({ type: 'hook', path: `/app-lifecycle/${container.name}/${end}`, value, container }),
      );
      const hasHooks = Object.keys(hooks).length > 0;
      return { ...container, ...probes, ...(hasHooks ? { lifecycle: { ...lifecycle, ...hooks } } : {}) };
    });
  }
  return { ...spec, ...mapped };
}

/** Those of these fields that are there, changed. */
function mapFields(
  owner: JsonObject,
  ends: Readonly<Record<string, string>>,
  change: (value: JsonObject, end: string) => JsonObject,
): JsonObject {
  const mapped: Record<string, JsonObject> = {};
  for (const [field, end] of Object.entries(ends)) {
    const value = owner[field];
    if (isRecord(value)) mapped[field] = change(value, end);
  }
  return mapped;
}

function withoutActions(handler: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(handler).filter(([name]) => !ACTIONS.some((action) => action === name)));
}

function timeoutOf({ timeoutSeconds }: JsonObject): number {
  const given = Number.isInteger(timeoutSeconds) ? Number(timeoutSeconds) : 0;
  return given < 1 ? DEFAULT_TIMEOUT_SECONDS : Math.min(given, MAX_TIMEOUT_SECONDS);
}

function movableAction({ type, value, container }: Handler, statusPort: number): JsonObject | undefined {
  for (const kind of ACTIONS) {
    const action = value[kind];
    if (!isRecord(action)) continue;
    const port = portNumber(action['port'], container);
    if (port === undefined || port === statusPort || OWN_PORTS.includes(port)) return undefined;
    if (type === 'hook' && !HOOK_ACTIONS.includes(kind)) return undefined;
    return isHost(action['host']) || !isSendable(action) ? undefined : { [kind]: { ...action, port } };
  }
  return undefined;
}

/** What the agent refuses to send would keep the whole sidecar from starting. */
function isSendable({ path, httpHeaders }: JsonObject): boolean {
  if (typeof (path ?? '') !== 'string' || !/^[\x21-\x7e]*$/.test(String(path ?? ''))) return false;
  const headers = httpHeaders ?? [];
  return Array.isArray(headers) && headers.every((header) => isRecord(header) && isHeader(header));
}

function isHeader({ name, value }: JsonObject): boolean {
  return (
    typeof name === 'string' &&
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) &&
    typeof (value ?? '') === 'string' &&
    /^[\t\x20-\x7e\x80-\xff]*$/.test(String(value ?? ''))
  );
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
