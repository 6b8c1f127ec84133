import { rmSync } from 'node:fs';
import { type Duration, milliseconds } from '../../lib/duration.ts';
import { formatProblem, MeshError } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { joinContainerArguments } from '../join-container.ts';
import { NODE_ADDRESS } from '../network/addresses.ts';
import { runCommand } from '../run-command.ts';
import { launchContainer } from './container-launch.ts';
import { runInOrder } from './container-order.ts';
import { type ContainerHost, ContainerRunner, type JoinableContainer, MIN_GRACE } from './container-runner.ts';
import { runHook } from './hook.ts';
import { parsePodSpec } from './parse-pod-spec.ts';
import type { ContainerSpec, PodSpec } from './pod-spec.ts';
import type { PodRecord } from './pod-status.ts';
import { PodVolumes } from './pod-volumes.ts';
import { type ProbeTarget, probeOnce } from './probe.ts';
import { rootlessRefusal } from './rootless-limits.ts';
import { memoryPaths, type RunningPod } from './running-pod.ts';
import type { NodeRuntime } from './runtime.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';

/** kubectl's own. */
const DEFAULT_CONTAINER_ANNOTATION = 'kubectl.kubernetes.io/default-container';
const SIDECAR_CONTAINER = 'mesh-proxy';

export interface PodRunnerOptions {
  readonly pod: KubeObject;
  readonly address: string;
  /** Name of the pod's link at the node. */
  readonly link: string;
  /** Restarts counted before the lab itself was started again, by container. */
  readonly restarts: ReadonlyMap<string, number>;
  /** The hosts file is written into the memory file system before any container starts. */
  readonly writeHosts: () => void;
  /** How long containers may take to end, where the pod's own word does not hold. */
  readonly gracePeriod: () => Duration | undefined;
  readonly onChange: () => void;
}

/** The kubelet's part for one pod: from its namespaces to the end of its last container. */
export class PodRunner {
  readonly #runtime: NodeRuntime;
  readonly #options: PodRunnerOptions;
  readonly #startTime: string;
  #init: readonly ContainerRunner[] = [];
  #containers: readonly ContainerRunner[] = [];
  #hasAddress = false;
  #initialized = false;
  #blocked: PodRecord['blocked'];
  #outcome: PodRecord['outcome'];
  /** In milliseconds since the epoch. */
  #endingSince: number | undefined;
  #volumes: PodVolumes | undefined;

  constructor(options: PodRunnerOptions, runtime: NodeRuntime) {
    this.#options = options;
    this.#runtime = runtime;
    this.#startTime = runtime.now().toISOString();
  }

  get record(): PodRecord {
    return {
      podIp: this.#hasAddress ? this.#options.address : undefined,
      hostIp: NODE_ADDRESS,
      startTime: this.#startTime,
      blocked: this.#blocked,
      initialized: this.#initialized,
      initContainers: this.#init.map(({ record }) => record),
      containers: this.#containers.map(({ record }) => record),
      outcome: this.#outcome,
    };
  }

  /** The running containers, for `exec`. */
  get joinable(): ReadonlyMap<string, JoinableContainer> {
    return new Map(
      [...this.#init, ...this.#containers].flatMap(({ spec, joinable }) =>
        joinable === undefined ? [] : [[spec.name, joinable]],
      ),
    );
  }

  /** The container that `exec` and `logs` mean when none is named: the first one that is not the sidecar. */
  get defaultContainer(): string {
    const named = this.#options.pod.metadata.annotations?.[DEFAULT_CONTAINER_ANNOTATION];
    const own = this.#containers.find(({ spec }) => spec.name !== SIDECAR_CONTAINER) ?? this.#containers[0];
    return named ?? own?.spec.name ?? '';
  }

  /** To be called when a ConfigMap or Secret of the pod's namespace has changed. */
  refreshVolumes(): void {
    this.#volumes?.refresh();
  }

  /** Runs the pod until it has ended for good or the signal is aborted, then removes everything of it. */
  async run(signal: AbortSignal): Promise<void> {
    const parsed = parsePodSpec(this.#options.pod);
    if (!parsed.ok) {
      this.#block('InvalidSpec', parsed.problems.map(formatProblem).join('; '));
      return;
    }
    const spec = parsed.value;
    const refusal = this.#runtime.rootless ? rootlessRefusal(spec) : undefined;
    if (refusal !== undefined) {
      this.#block('NeedsRoot', refusal);
      return;
    }
    const host = (pod: RunningPod): ContainerHost => this.#containerHost(pod);
    const sandbox = await this.#sandbox(spec, signal);
    if (sandbox === undefined) return;
    const pod = this.#runningPod(spec, sandbox);
    const restarts = (name: string): number => this.#options.restarts.get(name) ?? 0;
    this.#init = spec.initContainers.map((container) => new ContainerRunner(container, host(pod), restarts(container.name)));
    this.#containers = spec.containers.map((container) => new ContainerRunner(container, host(pod), restarts(container.name)));
    const ended = new AbortController();
    const lifetime = AbortSignal.any([signal, ended.signal]);
    try {
      this.#options.writeHosts();
      this.#volumes = new PodVolumes(pod, this.#runtime);
      await this.#volumes.mount(lifetime, (message) => this.#block('FailedMount', message));
      this.#blocked = undefined;
      this.#options.onChange();
      const codes = await this.#runContainers(spec, lifetime);
      if (!signal.aborted) this.#outcome = codes.every((code) => code === 0) ? 'Succeeded' : 'Failed';
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      ended.abort();
      await sandbox.destroy();
      this.#hasAddress = this.#outcome !== undefined;
      this.#volumes?.remove();
      this.#removeFiles(pod.uid);
      this.#options.onChange();
    }
  }

  async #sandbox(spec: PodSpec, signal: AbortSignal): Promise<Sandbox | undefined> {
    while (!signal.aborted) {
      try {
        const hostname = spec.hostname ?? this.#options.pod.metadata.name;
        const sandbox = await createSandbox(
          { hostname, address: this.#options.address, link: this.#options.link },
          this.#runtime.tools,
        );
        this.#hasAddress = true;
        this.#blocked = undefined;
        return sandbox;
      } catch (error) {
        this.#block('FailedCreatePodSandBox', MeshError.from(error).message);
        await this.#runtime.sleep(milliseconds(1_000), signal).catch(() => {});
      }
    }
    return undefined;
  }

  #runContainers({ restartPolicy }: PodSpec, signal: AbortSignal): Promise<readonly number[]> {
    const onInitialized = (): void => {
      this.#initialized = true;
      this.#options.onChange();
    };
    const onEnding = (): void => {
      this.#endingSince ??= this.#runtime.now().getTime();
    };
    return runInOrder({ init: this.#init, containers: this.#containers, restartPolicy, onInitialized, onEnding }, signal);
  }

  /** What is left of the time that the whole pod has to end. */
  #gracePeriod(spec: PodSpec): Duration {
    const granted = this.#options.gracePeriod() ?? spec.terminationGracePeriod;
    if (granted === 0 || this.#endingSince === undefined) return granted;
    const left = granted - (this.#runtime.now().getTime() - this.#endingSince);
    return milliseconds(Math.max(Math.min(granted, MIN_GRACE), left));
  }

  #containerHost(pod: RunningPod): ContainerHost {
    const { now, random, sleep, logger } = this.#runtime;
    return {
      launch: (spec) => launchContainer(pod, spec, this.#runtime),
      probe: (spec, probe, joined) => probeOnce(probe.action, probe.timeout, this.#targetOf(pod, spec, joined)),
      hook: (spec, hook, joined, limit, signal) =>
        runHook({ hook, target: this.#targetOf(pod, spec, joined), limit, sleep, signal }),
      onHookFailure: (container, hook, message) =>
        logger.warn('a hook failed', { pod: `${pod.namespace}/${pod.name}`, container, hook, error: message }),
      gracePeriod: () => this.#gracePeriod(pod.spec),
      now,
      random,
      sleep,
      onChange: this.#options.onChange,
    };
  }

  #targetOf(pod: RunningPod, spec: ContainerSpec, { context, pid }: JoinableContainer): ProbeTarget {
    const { tools } = this.#runtime;
    return {
      podIp: pod.podIp,
      ports: spec.ports,
      exec: async (command, timeout) => {
        const args = joinContainerArguments(pid, context, command, tools);
        return (await runCommand(tools.nsenter, args, { env: context.env, timeoutMs: timeout })).code;
      },
    };
  }

  #runningPod(spec: PodSpec, sandbox: Sandbox): RunningPod {
    const { name, namespace = 'default', uid = '' } = this.#options.pod.metadata;
    return { object: this.#options.pod, spec, namespace, name, uid, podIp: sandbox.address, sandboxPid: sandbox.pid };
  }

  #removeFiles(uid: string): void {
    for (const path of [memoryPaths.scratch(uid), memoryPaths.hosts(uid)]) {
      rmSync(`${this.#runtime.paths.memory}/${path}`, { recursive: true, force: true });
    }
  }

  #block(reason: string, message: string): void {
    this.#blocked = { reason, message };
    this.#options.onChange();
  }
}
