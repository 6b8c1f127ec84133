import type { Logger } from '../io/log/logger.ts';
import { type Duration, milliseconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Admin } from './admin.ts';
import type { Clock } from './clock.ts';
import type { ProxyProcess } from './envoy-process.ts';
import { readStats } from './readiness.ts';

export interface DrainTimes {
  /** How long running connections are waited for. */
  readonly drain: Duration;
  /** When, from the begin, a proxy that has not ended is killed; never before the drain is over. */
  readonly kill: Duration;
}

/** Listeners of the workload's traffic; the administration port and the statistics do not keep a proxy alive. */
const ACTIVE = '^listener\\.(?!admin\\.).*\\.downstream_cx_active$';
const ACTIVE_PATH = `/stats?format=json&filter=${encodeURIComponent('^listener\\..*\\.downstream_cx_active$')}`;
const POLL: Duration = milliseconds(100);
/** After the drain, for the proxy to end by itself. */
const ENDING: Duration = milliseconds(1_000);

/**
 * Ends the proxy without cutting what it can finish: it tells its clients to go (Connection: close, GOAWAY), and is
 * terminated when the last connection is gone or the drain time is over. Of several epochs (the newest first) the older
 * ones drain already.
 */
export async function drainProxies(
  proxies: readonly ProxyProcess[],
  admin: Admin,
  times: DrainTimes,
  statsPort: number,
  clock: Clock,
  logger: Logger,
): Promise<void> {
  const begin = clock.elapsed();
  const ended = new AbortController();
  const exited = Promise.all(proxies.map((proxy) => proxy.exited)).then(() => ended.abort());
  const spent = (): number => clock.elapsed() - begin;
  try {
    await admin.post('/healthcheck/fail');
    await admin.post('/drain_listeners?graceful&skip_exit');
    while (spent() < times.drain && !ended.signal.aborted && (await activeConnections(admin, statsPort)) > 0) {
      await clock.sleep(POLL, ended.signal).catch(() => {});
    }
  } catch (thrown) {
    logger.warn('the proxy cannot be drained and is ended at once', { error: MeshError.from(thrown).message });
  }
  for (const proxy of proxies) proxy.kill('SIGTERM');
  const left = milliseconds(Math.max(ENDING, times.kill - spent()));
  await Promise.race([exited, clock.sleep(left, ended.signal).catch(() => {})]);
  if (!ended.signal.aborted) {
    logger.warn('the proxy did not end in time and is killed', { pids: proxies.map((proxy) => proxy.pid) });
    for (const proxy of proxies) proxy.kill('SIGKILL');
  }
  await exited;
}

async function activeConnections(admin: Admin, statsPort: number): Promise<number> {
  const stats = readStats(await admin.get(ACTIVE_PATH));
  const counted = [...stats].filter(([name]) => new RegExp(ACTIVE).test(name) && !name.includes(`_${statsPort}.`));
  return counted.reduce((sum, [, value]) => sum + value, 0);
}
