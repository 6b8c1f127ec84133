/**
 * The liveness check by file: a server touches a file every half interval, and the probe, run by the orchestrator beside
 * it, finds the file fresh or stale.
 */
import { statSync } from 'node:fs';
import { type Duration, formatDuration, milliseconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Host } from '../host.ts';
import { DEFAULT_SCOPE } from '../log/levels.ts';
import { type LoggingInvocation, withLogOnDemand } from '../log/on-demand.ts';

/** What the file may be older than the interval, for the timer's inaccuracy. */
const GRACE = milliseconds(10);

export interface ProbeOptions {
  readonly interval: Duration;
  readonly 'probe-path': string;
}

/**
 * Prints OK when the file was modified within the interval.
 * @throws MeshError `usage` for options that check nothing, `unavailable` for a missing or stale file.
 */
export async function runProbe({ options }: { readonly options: ProbeOptions }, host: Host): Promise<number> {
  const path = options['probe-path'];
  if (path === '') throw new MeshError('usage', '--probe-path: name the file that the server keeps fresh');
  if (options.interval <= 0) {
    throw new MeshError('usage', `--interval: "${formatDuration(options.interval)}" is not a time span above 0, such as 4s`);
  }
  checkFresh(path, options.interval, host.now());
  host.stdout.write('OK\n');
  return 0;
}

/** `probe` as a command: with its log, whose scopes are the component's. @throws as `runProbe` and `createLogging` */
export function probeCommandFor(scopes: readonly string[]) {
  return (invocation: LoggingInvocation & { readonly options: ProbeOptions }, host: Host): Promise<number> =>
    withLogOnDemand(invocation, host, scopes, async (logger) => {
      const code = await runProbe(invocation, host);
      logger.debug('the probed file is fresh', { path: invocation.options['probe-path'] });
      return code;
    });
}

/** That of a component whose only scope is `default`. */
export const probeCommand = probeCommandFor([DEFAULT_SCOPE]);

/** @throws MeshError `unavailable` unless the file was modified less than interval + 10 ms before `now`. */
export function checkFresh(path: string, interval: Duration, now: Date): void {
  const age = milliseconds(Math.round(now.getTime() - modifiedAt(path)));
  if (age > interval + GRACE) {
    throw new MeshError(
      'unavailable',
      `${path} was last touched ${formatDuration(age)} ago; a live server does it within ${formatDuration(interval)}`,
    );
  }
}

/** In milliseconds. Not with promises: loading their module takes longer than all else that a probe does. */
function modifiedAt(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch (thrown) {
    throw new MeshError('unavailable', `the probe file is not readable: ${MeshError.from(thrown).message}`, thrown);
  }
}
