import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { RestartBackoff } from './backoff.ts';
import type { ContainerContext, LaunchedContainer } from './container-launch.ts';
import type { ContainerExit } from './container-process.ts';
import type { ContainerSpec, HookSpec, ProbeSpec, RestartPolicy } from './pod-spec.ts';
import type { ContainerRecord, ContainerState } from './pod-status.ts';
import type { ProbeResult } from './probe.ts';
import { runProbeLoop } from './probe-loop.ts';

/** Of every container, however long hooks or other containers have taken: the kubelet's minimum. */
export const MIN_GRACE: Duration = seconds(2);
/** The kubelet sets none, and a hook that hangs would keep its container from being ready for ever. */
const POST_START_LIMIT: Duration = seconds(600);

/** A program that runs, and what a command needs to join it. */
export interface JoinableContainer {
  readonly pid: number;
  readonly context: ContainerContext;
}

/** What a container runner needs from its pod. */
export interface ContainerHost {
  /** Starts the program; throws MeshError when the manifest asks for what does not exist. */
  readonly launch: (spec: ContainerSpec) => LaunchedContainer;
  readonly probe: (spec: ContainerSpec, probe: ProbeSpec, container: JoinableContainer) => Promise<ProbeResult>;
  /** Runs a hook within the limit; the signal ends a wait. Never rejects. */
  readonly hook: (
    spec: ContainerSpec,
    hook: HookSpec,
    container: JoinableContainer,
    limit: Duration,
    signal: AbortSignal,
  ) => Promise<ProbeResult>;
  /** Gets what went wrong with a hook after which nothing changes. */
  readonly onHookFailure: (container: string, hook: string, message: string) => void;
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
  #joinable: JoinableContainer | undefined;
  /** Why the program is being ended, where somebody should know. */
  #complaint: string | undefined;

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
  get joinable(): JoinableContainer | undefined {
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
      const code = await this.#runOnce(signal, noMore);
      if (noMore.aborted || policy === 'Never' || (policy === 'OnFailure' && code === 0)) return code ?? 1;
      const wait = this.#backoff.after(milliseconds(this.#host.now().getTime() - begun), this.#host.random);
      this.#lastState = this.#state.type === 'terminated' ? this.#state : this.#lastState;
      // Why it could not be started says more than that it is tried again.
      if (this.#state.type === 'terminated') {
        const why =
          this.#lastState?.type === 'terminated' && this.#lastState.message !== undefined ? ` (${this.#lastState.message})` : '';
        const message = `container "${this.spec.name}" ended with exit code ${code}${why}; restarting it in ${Math.ceil(wait / 1_000)} s`;
        this.#set({ type: 'waiting', reason: 'CrashLoopBackOff', message });
      }
      await this.#host.sleep(wait, noMore).catch(() => {});
      if (noMore.aborted) return code ?? 1;
      this.#restarts += code === undefined ? 0 : 1;
    }
  }

  /** The exit code; undefined when there was nothing to run. */
  async #runOnce(signal: AbortSignal, ending: AbortSignal): Promise<number | undefined> {
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
    const farewell = this.#farewell(over.signal);
    const prepare = (): void => void farewell();
    const stop = (): void => void this.#stop(launched, farewell, over.signal);
    ending.addEventListener('abort', prepare, { once: true });
    signal.addEventListener('abort', stop, { once: true });
    const pid = await process.started;
    if (pid !== undefined) this.#begin({ pid, context }, over.signal, stop);
    if (signal.aborted) stop();
    const exit = await process.exited;
    over.abort();
    ending.removeEventListener('abort', prepare);
    signal.removeEventListener('abort', stop);
    return this.#end(exit);
  }

  #begin(joined: JoinableContainer, over: AbortSignal, stop: () => void): void {
    this.#joinable = joined;
    const probe = (spec: ProbeSpec, onVerdict: (result: ProbeResult) => void): void => {
      const attempt = (): Promise<ProbeResult> => this.#host.probe(this.spec, spec, joined);
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
    const { startupProbe, postStart } = this.spec;
    const askStartup = (): void => {
      if (startupProbe === undefined) afterStartup();
      else
        probe(startupProbe, ({ ok }) => {
          if (!ok) stop();
          else if (!this.#isStarted) {
            afterStartup();
            this.#host.onChange();
          }
        });
    };
    if (postStart === undefined) askStartup();
    else void this.#greet(postStart, joined, over, stop, askStartup);
    this.#set({ type: 'running', startedAt: this.#host.now().toISOString() });
  }

  /** Runs the hook after the start; nobody asks the program anything before it is done. */
  async #greet(hook: HookSpec, joined: JoinableContainer, over: AbortSignal, stop: () => void, next: () => void): Promise<void> {
    const result = await this.#host.hook(this.spec, hook, joined, POST_START_LIMIT, over);
    if (over.aborted) return;
    if (result.ok) {
      next();
      this.#host.onChange();
    } else {
      this.#complaint = `its postStart hook failed: ${result.message}`;
      stop();
    }
  }

  /** The hook before the end, which runs once however often it is asked for; no time is granted to it in an end without grace. */
  #farewell(over: AbortSignal): () => Promise<void> {
    let running: Promise<void> | undefined;
    const run = async (): Promise<void> => {
      const { preStop } = this.spec;
      const limit = this.#host.gracePeriod();
      if (preStop === undefined || this.#joinable === undefined || limit === 0) return;
      const result = await this.#host.hook(this.spec, preStop, this.#joinable, limit, over);
      if (!result.ok && !over.aborted) this.#host.onHookFailure(this.spec.name, 'preStop', result.message);
    };
    return () => {
      running ??= run();
      return running;
    };
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
    const noProgram = exit.code === 127 || exit.code === 126 ? 'its program is not on this machine or cannot be run' : undefined;
    const message = this.#complaint ?? noProgram;
    const hint = message === undefined ? {} : { message };
    this.#complaint = undefined;
    this.#set({ type: 'terminated', exitCode: exit.code, reason, ...hint, finishedAt: this.#host.now().toISOString() });
    return exit.code;
  }

  /** Runs the hook before the end, asks the program to end, and kills it when all of that takes too long. */
  async #stop({ process }: LaunchedContainer, farewell: () => Promise<void>, over: AbortSignal): Promise<void> {
    const { gracePeriod, now, sleep } = this.#host;
    const granted = gracePeriod();
    const begun = now().getTime();
    const rest = new AbortController();
    const asleep = sleep(granted, AbortSignal.any([over, rest.signal])).catch(() => {});
    await Promise.race([farewell(), asleep]);
    rest.abort();
    if (over.aborted) return;
    process.signal('SIGTERM');
    const left = granted - (now().getTime() - begun);
    await sleep(milliseconds(Math.max(Math.min(granted, MIN_GRACE), left)), over).catch(() => {});
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
