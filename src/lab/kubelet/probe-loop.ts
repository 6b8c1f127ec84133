import { type Duration, milliseconds } from '../../lib/duration.ts';
import type { ProbeSpec } from './pod-spec.ts';
import type { ProbeResult } from './probe.ts';

/** A container that starts is asked this often at first, so that a whole period is not lost when it is ready a moment later. */
const FIRST_INTERVAL = milliseconds(100);
const GROWTH = 1.5;

export interface ProbeLoop {
  readonly spec: ProbeSpec;
  readonly attempt: () => Promise<ProbeResult>;
  /** Runs when enough successes or failures in a row have changed the verdict. */
  readonly onVerdict: (result: ProbeResult) => void;
  /** Resolves after the time; rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Probes until aborted. Before the first success the interval grows from a tenth of a second to the period, and it takes
 * `failureThreshold` periods, not attempts, to fail.
 */
export async function runProbeLoop({ spec, attempt, onVerdict, sleep, signal }: ProbeLoop): Promise<void> {
  let verdict: boolean | undefined;
  let inARow = 0;
  let last: boolean | undefined;
  let interval = Math.min(FIRST_INTERVAL, spec.period);
  let waited = 0;
  await sleep(spec.initialDelay, signal);
  while (!signal.aborted) {
    const result = await attempt();
    if (signal.aborted) return;
    inARow = result.ok === last ? inARow + 1 : 1;
    last = result.ok;
    const everSucceeded = verdict !== undefined || result.ok;
    const failed = everSucceeded ? inARow >= spec.failureThreshold : waited >= spec.failureThreshold * spec.period;
    if (result.ok ? inARow >= spec.successThreshold : failed) {
      if (verdict !== result.ok) onVerdict(result);
      verdict = result.ok;
    }
    if (verdict !== undefined) interval = spec.period;
    await sleep(milliseconds(interval), signal);
    waited += interval;
    interval = Math.min(spec.period, interval * GROWTH);
  }
}
