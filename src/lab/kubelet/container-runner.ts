import { type Duration, milliseconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { RestartBackoff } from './backoff.ts';
import type { ContainerContext, LaunchedContainer } from './container-launch.ts';
import type { ContainerExit } from './container-process.ts';
import type { ContainerSpec, ProbeSpec, RestartPolicy } from './pod-spec.ts';
import type { ContainerRecord, ContainerState } from './pod-status.ts';
import type { ProbeResult } from './probe.ts';
import { runProbeLoop } from './probe-loop.ts';

/** What a container runner needs from its pod. */
export interface ContainerHost {
  /** Starts the program; throws MeshError when the manifest asks for what does not exist. */
  readonly launch: (spec: ContainerSpec) => LaunchedContainer;
  readonly probe: (spec: ContainerSpec, probe: ProbeSpec, context: ContainerContext, pid: number) => Promise<ProbeResult>;
  readonly gracePeriod: () => Duration;
  readonly now: () => Date;
  readonly random: () => number;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  /** Runs after every change of the record or of the joined process. */
  readonly onChange: () => void;
}

/** Keeps one container running as its restart policy says, and knows how it is doing. */
export class ContainerRunner {
  readonly spec: ContainerSpec;
  readonly #host: ContainerHost;
  readonly #backoff = new RestartBackoff();
  readonly #ready = Promise.withResolvers<void>();
  #state: ContainerState = { type: 'waiting', reason: 'PodInitializing' };
  #lastState: ContainerState | undefined;
  #isReady = false;
  #isStarted = false;
  #restarts: number;
  #joinable: { readonly pid: number; readonly context: ContainerContext } | undefined;

  constructor(spec: ContainerSpec, host: ContainerHost, restarts: number) {
    this.spec = spec;
    this.#host = host;
    this.#restarts = restarts;
  }

  get record(): ContainerRecord {
    return {
      name: this.spec.name,
      image: this.spec.image,
      sidecar: this.spec.sidecar,
      state: this.#state,
      lastState: this.#lastState,
      ready: this.#isReady,
      started: this.#isStarted,
      restarts: this.#restarts,
    };
  }

  /** The running program, for `exec`. */
  get joinable(): { readonly pid: number; readonly context: ContainerContext } | undefined {
    return this.#joinable;
  }

  /** Resolves once the container has run and passed its startup probe. */
  get started(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * Runs until the policy is satisfied (gives the exit code) or the signal is aborted, which stops the program gracefully. Once `ending` is
   * aborted the program is left alone, but not started again.
   */
  async run(policy: RestartPolicy, signal: AbortSignal, ending = signal): Promise<number> {
    const noMore = AbortSignal.any([signal, ending]);
    for (;;) {
      const begun = this.#host.now().getTime();
      const code = await this.#runOnce(signal);
      if (noMore.aborted || policy === 'Never' || (policy === 'OnFailure' && code === 0)) return code ?? 1;
      const wait = this.#backoff.after(milliseconds(this.#host.now().getTime() - begun), this.#host.random);
      this.#lastState = this.#state.type === 'terminated' ? this.#state : this.#lastState;
      // Why it could not be started says more than that it is tried again.
      if (this.#state.type === 'terminated') {
        const message = `container "${this.spec.name}" ended with exit code ${code}; restarting it in ${Math.ceil(wait / 1_000)} s`;
        this.#set({ type: 'waiting', reason: 'CrashLoopBackOff', message });
      }
      await this.#host.sleep(wait, noMore).catch(() => {});
      if (noMore.aborted) return code ?? 1;
      this.#restarts += code === undefined ? 0 : 1;
    }
  }

  /** The exit code; undefined when there was nothing to run. */
  async #runOnce(signal: AbortSignal): Promise<number | undefined> {
    let launched: LaunchedContainer;
    try {
      launched = this.#host.launch(this.spec);
    } catch (error) {
      const { code, message } = MeshError.from(error);
      const reason = code === 'not_found' ? 'ErrImageNeverPull' : 'CreateContainerConfigError';
      this.#set({ type: 'waiting', reason, message });
      return undefined;
    }
    const { process, context } = launched;
    const over = new AbortController();
    const stop = (): void => void this.#stop(launched, over.signal);
    signal.addEventListener('abort', stop, { once: true });
    const pid = await process.started;
    if (pid !== undefined) this.#begin(pid, context, over.signal, stop);
    if (signal.aborted) stop();
    const exit = await process.exited;
    over.abort();
    signal.removeEventListener('abort', stop);
    return this.#end(exit);
  }

  #begin(pid: number, context: ContainerContext, over: AbortSignal, stop: () => void): void {
    this.#joinable = { pid, context };
    const probe = (spec: ProbeSpec, onVerdict: (result: ProbeResult) => void): void => {
      const attempt = (): Promise<ProbeResult> => this.#host.probe(this.spec, spec, context, pid);
      runProbeLoop({ spec, attempt, onVerdict, sleep: this.#host.sleep, signal: over }).catch(() => {});
    };
    const afterStartup = (): void => {
      this.#isStarted = true;
      this.#ready.resolve();
      const { livenessProbe, readinessProbe } = this.spec;
      if (livenessProbe !== undefined) probe(livenessProbe, ({ ok }) => ok || stop());
      if (readinessProbe !== undefined) probe(readinessProbe, ({ ok }) => this.#setReady(ok));
      else this.#isReady = true;
    };
    const { startupProbe } = this.spec;
    if (startupProbe === undefined) afterStartup();
    else
      probe(startupProbe, ({ ok }) => {
        if (!ok) stop();
        else if (!this.#isStarted) {
          afterStartup();
          this.#host.onChange();
        }
      });
    this.#set({ type: 'running', startedAt: this.#host.now().toISOString() });
  }

  #end(exit: ContainerExit): number | undefined {
    this.#joinable = undefined;
    this.#isReady = false;
    this.#isStarted = false;
    if (exit.type !== 'ended') {
      const reason = exit.type === 'no_program' ? 'RunContainerError' : 'CreateContainerError';
      this.#set({ type: 'waiting', reason, message: exit.message });
      return undefined;
    }
    const reason = exit.code === 0 ? 'Completed' : 'Error';
    // 127 and 126 are what a shell and env(1) say of a program that is missing or cannot be run.
    const hint = exit.code === 127 || exit.code === 126 ? { message: 'its program is not on this machine or cannot be run' } : {};
    this.#set({ type: 'terminated', exitCode: exit.code, reason, ...hint, finishedAt: this.#host.now().toISOString() });
    return exit.code;
  }

  /** Asks the program to end, and kills it when it has not done so in time. */
  async #stop({ process }: LaunchedContainer, over: AbortSignal): Promise<void> {
    process.signal('SIGTERM');
    await this.#host.sleep(this.#host.gracePeriod(), over).catch(() => {});
    if (!over.aborted) process.signal('SIGKILL');
  }

  #setReady(ready: boolean): void {
    this.#isReady = ready;
    this.#host.onChange();
  }

  #set(state: ContainerState): void {
    this.#state = state;
    this.#host.onChange();
  }
}
