/** The status of a pod as the kubelet reports it, built from what its containers do. */

export type ContainerState =
  | { readonly type: 'waiting'; readonly reason: string; readonly message?: string }
  | { readonly type: 'running'; readonly startedAt: string }
  | {
      readonly type: 'terminated';
      readonly exitCode: number;
      readonly reason: string;
      readonly message?: string;
      readonly finishedAt: string;
    };

export interface ContainerRecord {
  readonly name: string;
  readonly image: string;
  /** An init container that runs on beside the others. */
  readonly sidecar: boolean;
  readonly state: ContainerState;
  readonly lastState: ContainerState | undefined;
  readonly ready: boolean;
  /** Running, and past its startup probe. */
  readonly started: boolean;
  readonly restarts: number;
}

export interface PodRecord {
  readonly podIp: string | undefined;
  readonly hostIp: string;
  readonly startTime: string;
  /** Why the pod cannot begin: a bad spec, a volume that is missing. */
  readonly blocked: { readonly reason: string; readonly message: string } | undefined;
  readonly initialized: boolean;
  readonly initContainers: readonly ContainerRecord[];
  readonly containers: readonly ContainerRecord[];
  /** Set when the pod has ended for good. */
  readonly outcome: 'Succeeded' | 'Failed' | undefined;
}

/** One condition, without the time of its last change. */
export interface PodCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason?: string;
  readonly message?: string;
}

/** The `status` of the Pod object; `since` gives each condition the time of its last change. */
export function podStatus(record: PodRecord, since: (condition: PodCondition) => string): Record<string, unknown> {
  const ready = isPodReady(record);
  const unready = lastingContainers(record)
    .filter((container) => !container.ready)
    .map(({ name }) => name);
  const notReady = { reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` };
  const conditions: PodCondition[] = [
    { type: 'PodScheduled', status: 'True' },
    record.initialized
      ? { type: 'Initialized', status: 'True' }
      : { type: 'Initialized', status: 'False', ...(record.blocked ?? {}) },
    ready ? { type: 'ContainersReady', status: 'True' } : { type: 'ContainersReady', status: 'False', ...notReady },
    ready ? { type: 'Ready', status: 'True' } : { type: 'Ready', status: 'False', ...(record.blocked ?? notReady) },
  ];
  return {
    phase: phaseOf(record),
    conditions: conditions.map((condition) => ({ ...condition, lastTransitionTime: since(condition) })),
    hostIP: record.hostIp,
    ...(record.podIp === undefined ? {} : { podIP: record.podIp, podIPs: [{ ip: record.podIp }] }),
    startTime: record.startTime,
    ...(record.initContainers.length > 0 ? { initContainerStatuses: record.initContainers.map(initContainerStatus) } : {}),
    containerStatuses: record.containers.map(containerStatus),
  };
}

export function isPodReady(record: PodRecord): boolean {
  return record.outcome === undefined && record.initialized && lastingContainers(record).every((container) => container.ready);
}

/** Those that run as long as the pod does: all of them are ready when it is. */
function lastingContainers({ initContainers, containers }: PodRecord): readonly ContainerRecord[] {
  return [...initContainers.filter(({ sidecar }) => sidecar), ...containers];
}

function phaseOf({ outcome, initialized, containers }: PodRecord): string {
  if (outcome !== undefined) return outcome;
  const begun = containers.some(({ state, restarts }) => state.type !== 'waiting' || restarts > 0);
  return initialized && begun ? 'Running' : 'Pending';
}

/** One that has ended well is ready, as the kubelet has it. */
function initContainerStatus(record: ContainerRecord): Record<string, unknown> {
  const { sidecar, ready, state } = record;
  return containerStatus({ ...record, ready: sidecar ? ready : state.type === 'terminated' && state.exitCode === 0 });
}

function containerStatus({ name, image, state, lastState, ready, started, restarts }: ContainerRecord): Record<string, unknown> {
  return {
    name,
    image,
    imageID: image,
    ready,
    started,
    restartCount: restarts,
    state: stateField(state),
    lastState: lastState === undefined ? {} : stateField(lastState),
  };
}

function stateField({ type, ...fields }: ContainerState): Record<string, unknown> {
  return { [type]: fields };
}
