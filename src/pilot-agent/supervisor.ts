import type { Logger } from '../io/log/logger.ts';
import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { type Backoff, doubled } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { ProxyExit, ProxyProcess, StartProxy } from './envoy-process.ts';
import type { AgentMetrics } from './metrics.ts';

const RESTART: Backoff = { first: milliseconds(200), longest: seconds(60) };
/** Restarts in a row before the agent gives up. */
const BUDGET = 10;
/** A proxy that ran this long was well: what ends it then is a new failure. */
const STABLE: Duration = seconds(60);

export interface SupervisorDeps {
  readonly start: StartProxy;
  /**
   * Asked when a proxy ended by itself soon after it was started: rejects with the reason when the configuration or the
   * binary can never work, so that restarting is useless.
   */
  readonly diagnose: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: AgentMetrics;
}

/** Keeps a proxy running. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  #running: ProxyProcess | undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  /** The proxy of now, if one runs. */
  get running(): ProxyProcess | undefined {
    return this.#running;
  }

  /** Restarts the proxy whenever it ends, until the signal aborts. Rejects when it cannot be kept running. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    for (let failures = 0; !signal.aborted; ) {
      const begin = clock.elapsed();
      const exit = await this.#runOnce(signal);
      if (signal.aborted) return;
      const lived = milliseconds(clock.elapsed() - begin);
      if (lived >= STABLE) failures = 0;
      else if (failures === 0 && exit.signal === null) await this.#deps.diagnose();
      failures += 1;
      if (failures > BUDGET) {
        throw new MeshError(
          'failed_precondition',
          `the proxy ended ${failures} times in a row, the last time ${describeExit(exit)}; its log tells why`,
        );
      }
      const wait = doubled(RESTART, failures);
      logger.error('the proxy ended by itself and is started again', {
        how: describeExit(exit),
        restart: failures,
        budget: BUDGET,
        inMs: wait,
      });
      this.#deps.metrics.proxyRestarted();
      await clock.sleep(wait, signal).catch(() => {});
    }
  }

  async #runOnce(signal: AbortSignal): Promise<ProxyExit> {
    const proxy = await this.#deps.start();
    this.#running = proxy;
    this.#deps.logger.info('the proxy was started', { pid: proxy.pid });
    // The proxy may end after the signal, by whoever drains it; waiting for that is theirs.
    const stopped = new Promise<ProxyExit>((resolve) => {
      if (signal.aborted) resolve({ code: null, signal: null });
      else signal.addEventListener('abort', () => resolve({ code: null, signal: null }), { once: true });
    });
    const exited = proxy.exited.then((exit) => {
      this.#running = undefined;
      return exit;
    });
    return Promise.race([exited, stopped]);
  }
}

export function describeExit(exit: ProxyExit): string {
  return exit.signal === null ? `with exit code ${exit.code}` : `by ${exit.signal}`;
}
