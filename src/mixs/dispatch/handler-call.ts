import { type Duration, formatDuration, milliseconds, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';
import type { HandlerCall, Status } from '../adapter/adapter.ts';
import type { WorkerPool } from '../worker-pool.ts';

/** A handler that has not answered by then has failed. */
export const HANDLER_LIMIT = seconds(5);

/** What is told of each call of a handler, for metrics. */
export interface DispatchMeter {
  called(handler: string, adapter: string, template: string, outcome: 'ok' | 'failed' | 'timed out', milliseconds: number): void;
  /** An instance that a request could not fill, or a report that could not be made. */
  skipped(instance: string, reason: string): void;
}

export interface CallOptions {
  readonly handler: string;
  readonly adapter: string;
  readonly template: string;
  readonly meter: DispatchMeter;
  /** Bounds the calls that wait for back ends. */
  readonly pool: WorkerPool;
  /** Milliseconds of a clock that never jumps. */
  readonly elapsed: () => number;
  readonly signal: AbortSignal;
  /** HANDLER_LIMIT, unless this says otherwise. */
  readonly limit?: Duration;
}

/**
 * Calls a handler, at once where a worker is free, or else when one is: waiting counts as the handler's own time. What the pool refuses is a
 * failure of the handler's. See `attempt`.
 */
export function callHandler<T>(
  run: (call: HandlerCall) => T | Promise<T>,
  onFailure: (status: Status) => T,
  options: CallOptions,
): T | Promise<T> {
  const { pool, signal, handler, adapter, template, meter, elapsed, limit = HANDLER_LIMIT } = options;
  if (pool.hasRoom) {
    const answer = attempt(run, onFailure, options);
    // One that answers at once has taken no worker's time.
    if (answer instanceof Promise) void pool.hold(answer);
    return answer;
  }
  const begin = elapsed();
  const late = AbortSignal.timeout(limit);
  const refused = (thrown: unknown): T => {
    meter.called(handler, adapter, template, late.aborted ? 'timed out' : 'failed', elapsed() - begin);
    if (late.aborted)
      return onFailure({ code: RPC_CODES.DEADLINE_EXCEEDED, message: `no worker was free in ${formatDuration(limit)}` });
    return onFailure({ code: RPC_CODES.RESOURCE_EXHAUSTED, message: MeshError.from(thrown).message });
  };
  const rest = (): Duration => milliseconds(Math.max(0, limit - (elapsed() - begin)));
  return pool
    .run(async () => attempt(run, onFailure, { ...options, limit: rest() }), AbortSignal.any([signal, late]))
    .catch(refused);
}

/** Calls a handler that answers from what it knows: it needs no worker, and nobody waits for it. What it throws is thrown as `unavailable`. */
export function callAtOnce<T>(
  run: () => T,
  { handler, adapter, template, meter, elapsed }: Omit<CallOptions, 'signal' | 'pool'>,
): T {
  const begin = elapsed();
  try {
    const answer = run();
    meter.called(handler, adapter, template, 'ok', elapsed() - begin);
    return answer;
  } catch (thrown) {
    meter.called(handler, adapter, template, 'failed', elapsed() - begin);
    throw new MeshError('unavailable', `${handler}: ${MeshError.from(thrown).message}`, thrown);
  }
}

/**
 * Calls a handler: what it throws, and an answer that does not come in time, become `onFailure`'s value. A handler that answers at once is not
 * waited for.
 */
function attempt<T>(
  run: (call: HandlerCall) => T | Promise<T>,
  onFailure: (status: Status) => T,
  options: CallOptions,
): T | Promise<T> {
  const { handler, adapter, template, meter, elapsed, signal, limit = HANDLER_LIMIT } = options;
  const begin = elapsed();
  const ended = (outcome: 'ok' | 'failed' | 'timed out'): void =>
    meter.called(handler, adapter, template, outcome, elapsed() - begin);
  const failed = (thrown: unknown): T => {
    ended('failed');
    return onFailure({ code: RPC_CODES.INTERNAL, message: MeshError.from(thrown).message });
  };
  let answer: T | Promise<T>;
  try {
    answer = run({ signal });
  } catch (thrown) {
    return failed(thrown);
  }
  if (!(answer instanceof Promise)) {
    ended('ok');
    return answer;
  }
  return bounded(answer, limit, signal, (reason) => {
    ended('timed out');
    return onFailure({ code: RPC_CODES.DEADLINE_EXCEEDED, message: reason });
  }).then(({ value, late }) => {
    if (!late) ended('ok');
    return value;
  }, failed);
}

/** The answer, or what `onLate` makes of its being late: after the limit, or when the request is over. */
function bounded<T>(
  answer: Promise<T>,
  limit: Duration,
  signal: AbortSignal,
  onLate: (reason: string) => T,
): Promise<{ readonly value: T; readonly late: boolean }> {
  return new Promise((resolve, reject) => {
    const late = (reason: string): void => {
      done();
      resolve({ value: onLate(reason), late: true });
    };
    const timer = setTimeout(() => late(`no answer in ${formatDuration(limit)}`), limit);
    const aborted = (): void => late('the request ended before the answer');
    signal.addEventListener('abort', aborted, { once: true });
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
    };
    answer.then(
      (value) => {
        done();
        resolve({ value, late: false });
      },
      (thrown) => {
        done();
        reject(thrown);
      },
    );
  });
}
