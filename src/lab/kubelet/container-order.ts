/** The order in which the containers of a pod start and end. */
import { abortable } from './abortable.ts';
import type { ContainerRunner } from './container-runner.ts';
import type { ContainerSpec, PodSpec } from './pod-spec.ts';

/** One container, as far as its order is concerned. */
export interface OrderedContainer extends Pick<ContainerRunner, 'started' | 'run'> {
  readonly spec: Pick<ContainerSpec, 'sidecar'>;
}

export interface ContainerOrder {
  readonly init: readonly OrderedContainer[];
  readonly containers: readonly OrderedContainer[];
  readonly restartPolicy: PodSpec['restartPolicy'];
  /** Runs when the init containers have ended and the native sidecars have started. */
  readonly onInitialized: () => void;
  /** Runs when the pod begins to end; more than once does no harm. */
  readonly onEnding: () => void;
}

/**
 * Runs a pod as the kubelet does (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/): init containers one after the
 * other, of which a native sidecar lets the next one begin once it has started; then the containers, all at once. However that ends, the
 * native sidecars end after it, the last one first. Gives the exit codes of the containers, or that of the init container that failed, when
 * nothing runs any more. Aborting the signal asks everything to end; it rejects then if the containers have not begun.
 */
export async function runInOrder(order: ContainerOrder, signal: AbortSignal): Promise<readonly number[]> {
  const { init, containers, restartPolicy, onInitialized, onEnding } = order;
  const sidecars: { readonly stop: AbortController; readonly ended: Promise<number> }[] = [];
  const ending = new AbortController();
  const end = (): void => {
    onEnding();
    ending.abort();
  };
  signal.addEventListener('abort', end, { once: true });
  try {
    for (const container of init) {
      signal.throwIfAborted();
      if (container.spec.sidecar) {
        const stop = new AbortController();
        sidecars.push({ stop, ended: container.run('Always', stop.signal, ending.signal) });
        await abortable(container.started, signal);
      } else {
        const code = await container.run(restartPolicy === 'Never' ? 'Never' : 'OnFailure', signal);
        if (code !== 0) return [code];
      }
    }
    signal.throwIfAborted();
    onInitialized();
    return await Promise.all(containers.map((container) => container.run(restartPolicy, signal)));
  } finally {
    signal.removeEventListener('abort', end);
    end();
    for (const { stop, ended } of sidecars.toReversed()) {
      stop.abort();
      await ended;
    }
  }
}
