import { constants } from 'node:os';
import type { Logger } from '../io/log/logger.ts';
import { type Backoff, doubled } from '../lib/backoff.ts';
import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Clock } from './clock.ts';
import type { ProxyExit, ProxyProcess } from './envoy-process.ts';
import type { AgentMetrics } from './metrics.ts';
import { Wakeup } from './wakeup.ts';

const RESTART: Backoff = { first: milliseconds(200), longest: seconds(60) };
/** Restarts in a row before the agent gives up. */
const BUDGET = 10;
/** A proxy that ran this long was well: what ends it then is a new failure. */
const STABLE: Duration = seconds(60);
/** How often it is looked whether an obstacle has gone. */
const LOOK_AGAIN: Duration = milliseconds(200);

export interface SupervisorDeps<Configuration> {
  /** Starts an epoch of the proxy; those that run already hand their listeners over and drain. */
  readonly start: (epoch: number, configuration: Configuration) => Promise<ProxyProcess>;
  /**
   * Asked when a proxy ended by itself soon after it was started: rejects with the reason when the configuration or the
   * binary can never work, so that restarting is useless.
   */
  readonly diagnose: (epoch: number) => Promise<void>;
  /** Asked while no proxy runs: what keeps one from starting now and can pass by itself, such as a port that is taken. */
  readonly obstacle: () => Promise<string | undefined>;
  /** Told when an epoch has ended, with the ones that still run. */
  readonly ended: (running: readonly number[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: AgentMetrics;
}

/** How supervision ended: because it was told to, or because the proxy cannot be kept running. */
export type SupervisionEnd =
  | { readonly kind: 'stopped' }
  /** The exit code is the proxy's own, 128 + the number of the signal that ended it, and never 0. */
  | { readonly kind: 'failed'; readonly error: MeshError; readonly exitCode: number };

/** Keeps the newest epoch of the proxy running, and moves on to a further one when the configuration changes. */
export class Supervisor<Configuration> {
  readonly #deps: SupervisorDeps<Configuration>;
  readonly #running = new Map<number, ProxyProcess>();
  readonly #wakeup = new Wakeup();
  #configuration: Configuration;
  #replaced = false;
  /** The epoch started last. */
  #latest: { readonly epoch: number; readonly proxy: ProxyProcess; readonly startedAt: number } | undefined;
  /** How that one ended, until it is dealt with. */
  #exit: ProxyExit | undefined;

  constructor(deps: SupervisorDeps<Configuration>, configuration: Configuration) {
    this.#deps = deps;
    this.#configuration = configuration;
  }

  /** The proxies of now, the newest first. */
  get running(): readonly ProxyProcess[] {
    return [...this.#running].sort(([a], [b]) => b - a).map(([, proxy]) => proxy);
  }

  /** Has the proxy go on with another configuration; failures so far are forgotten. */
  replace(configuration: Configuration): void {
    this.#configuration = configuration;
    this.#replaced = true;
    this.#wakeup.notify();
  }

  /** Restarts the proxy whenever it ends, until the signal aborts. Rejects when the first one cannot be started at all. */
  async run(signal: AbortSignal): Promise<SupervisionEnd> {
    const stop = (): void => this.#wakeup.notify();
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) return { kind: 'stopped' };
      await this.#start();
      return await this.#supervise(signal);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async #supervise(signal: AbortSignal): Promise<SupervisionEnd> {
    let failures = 0;
    while (!signal.aborted) {
      if (this.#replaced) {
        failures = 0;
        await this.#handOver(signal);
      } else if (this.#exit !== undefined) {
        const exit = this.#exit;
        this.#exit = undefined;
        const lived = this.#deps.clock.elapsed() - (this.#latest?.startedAt ?? 0);
        if (lived >= STABLE) failures = 0;
        const hopeless = failures === 0 && lived < STABLE && exit.signal === null ? await this.#hopeless() : undefined;
        if (signal.aborted) break;
        if (hopeless !== undefined) return { kind: 'failed', error: hopeless, exitCode: exitCodeOf(exit) };
        failures += 1;
        if (failures > BUDGET) return { kind: 'failed', error: budgetUsedUp(failures, exit), exitCode: exitCodeOf(exit) };
        await this.#restart(exit, failures, signal);
      } else {
        await this.#wakeup.wait();
      }
    }
    return { kind: 'stopped' };
  }

  async #hopeless(): Promise<MeshError | undefined> {
    return this.#deps.diagnose(this.#latest?.epoch ?? 0).then(
      () => undefined,
      (thrown: unknown) => MeshError.from(thrown),
    );
  }

  async #restart(exit: ProxyExit, failures: number, signal: AbortSignal): Promise<void> {
    const wait = doubled(RESTART, failures);
    const obstacle = this.#running.size === 0 ? await this.#deps.obstacle() : undefined;
    this.#deps.logger.error('the proxy ended by itself and is started again', {
      how: describeExit(exit),
      ...(obstacle === undefined ? {} : { because: obstacle, sooner: 'as soon as it is free' }),
      restart: failures,
      budget: BUDGET,
      inMs: wait,
    });
    this.#deps.metrics.proxyRestarted();
    await (obstacle === undefined ? this.#pause(wait, signal) : this.#pauseUntilGone(wait, signal));
    if (signal.aborted || this.#replaced) return;
    await this.#start().catch((thrown: unknown) => {
      this.#deps.logger.error('the proxy cannot be started', { error: MeshError.from(thrown).message });
      this.#exit = exit;
    });
  }

  /** A new epoch that cannot even be started leaves the one before in charge, and is tried again. */
  async #handOver(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      this.#replaced = false;
      this.#exit = undefined;
      try {
        return await this.#start();
      } catch (thrown) {
        const wait = doubled(RESTART, attempt);
        this.#deps.logger.error('the new configuration cannot be put to use yet; the proxy goes on with the one before', {
          error: MeshError.from(thrown).message,
          retryInMs: wait,
        });
        await this.#pause(wait, signal);
      }
    }
  }

  /** Waits, but no longer than the obstacle is there. */
  async #pauseUntilGone(time: Duration, signal: AbortSignal): Promise<void> {
    const end = this.#deps.clock.elapsed() + time;
    for (let left: number = time; left > 0 && !signal.aborted && !this.#replaced; left = end - this.#deps.clock.elapsed()) {
      await this.#pause(milliseconds(Math.min(left, LOOK_AGAIN)), signal);
      if ((await this.#deps.obstacle()) === undefined) return;
    }
  }

  /** Waits; only a new configuration and the end are worth hurrying for. */
  async #pause(time: Duration, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    let slept = false;
    const sleeping = this.#deps.clock
      .sleep(time, AbortSignal.any([signal, over.signal]))
      .catch(() => {})
      .then(() => {
        slept = true;
        this.#wakeup.notify();
      });
    while (!slept && !this.#replaced && !signal.aborted) await this.#wakeup.wait();
    over.abort();
    await sleeping;
  }

  async #start(): Promise<void> {
    const { clock, logger, start } = this.#deps;
    const epoch = Math.max(-1, ...this.#running.keys()) + 1;
    const proxy = await start(epoch, this.#configuration);
    this.#running.set(epoch, proxy);
    this.#latest = { epoch, proxy, startedAt: clock.elapsed() };
    this.#exit = undefined;
    logger.info('the proxy was started', { pid: proxy.pid, epoch });
    void proxy.exited.then((exit) => this.#ended(epoch, proxy, exit));
  }

  #ended(epoch: number, proxy: ProxyProcess, exit: ProxyExit): void {
    this.#running.delete(epoch);
    if (this.#latest?.proxy === proxy) this.#exit = exit;
    else this.#deps.logger.info('the proxy of before has ended', { pid: proxy.pid, epoch, how: describeExit(exit) });
    this.#deps.ended([...this.#running.keys()]);
    this.#wakeup.notify();
  }
}

export function describeExit(exit: ProxyExit): string {
  return exit.signal === null ? `with exit code ${exit.code}` : `by ${exit.signal}`;
}

function budgetUsedUp(failures: number, exit: ProxyExit): MeshError {
  return new MeshError(
    'failed_precondition',
    `the proxy ended ${failures} times in a row, the last time ${describeExit(exit)}; its log tells why`,
  );
}

/** As a shell reports it. A proxy that ends well when it should run on has failed all the same. */
function exitCodeOf(exit: ProxyExit): number {
  const signal = Object.entries(constants.signals).find(([name]) => name === exit.signal)?.[1];
  return signal === undefined ? exit.code || 1 : 128 + signal;
}
