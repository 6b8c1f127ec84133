export interface ContainerPort {
  readonly name: string;
  readonly number: number;
}

/** A Kubernetes Pod, parsed. */
export interface Workload {
  readonly namespace: string;
  readonly name: string;
  /** The pod's own addresses, first one first; empty until it has some, and for pods in the host's network. */
  readonly addresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  /** The sidecar was injected, so peers speak mutual TLS to it. */
  readonly hasSidecar: boolean;
  readonly ports: readonly ContainerPort[];
  readonly ready: boolean;
  /** `deleting`: asked to stop, still serving what it has. `ended`: its addresses may belong to another pod by now. */
  readonly state: 'live' | 'deleting' | 'ended';
}

/** Key of a workload among all: `namespace/name`. */
export function workloadKey(workload: Pick<Workload, 'namespace' | 'name'>): string {
  return `${workload.namespace}/${workload.name}`;
}

/** The number of a target port on one workload; `undefined` when it has no container port of that name. */
export function resolveTargetPort(targetPort: number | string, workload: Workload): number | undefined {
  if (typeof targetPort === 'number') return targetPort;
  return workload.ports.find((port) => port.name === targetPort)?.number;
}
