/** From changes to published snapshots. */
import type { Logger } from '../io/log/logger.ts';
import { milliseconds, seconds } from '../lib/duration.ts';
import { nextSnapshot } from '../model/snapshot.ts';
import { createDebouncer, systemTimers } from '../sources/debounce.ts';
import { followInputs, type InputOptions, type Inputs } from './inputs.ts';
import type { Publisher } from './publisher.ts';

/** Changes are folded until it is quiet this long, or at most so long. */
const QUIET = milliseconds(100);
const MAX_DELAY = seconds(10);
/** A change that brings a key set nobody has asked for yet waits this long at most for the first answer, or good tokens would be refused until it comes. */
const KEY_SET_PATIENCE_MS = 1_000;

export interface Pipeline {
  readonly inputs: Inputs;
  /** Waits for everything to be read once, then publishes every change until the signal is aborted. */
  start(): Promise<void>;
}

export interface PipelineOptions extends Omit<InputOptions, 'onChange'> {
  readonly publisher: Publisher;
  /** Runs before a snapshot is published, with the time of the first change folded into it (milliseconds of performance.now). */
  readonly onPublish: (since: number) => void;
  readonly logger: Logger;
}

export async function createPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { publisher, onPublish, signal, logger } = options;
  let started = false;
  let since: number | undefined;
  let firstError = true;
  let held: NodeJS.Timeout | undefined;

  /** Whether a change waits for keys, which `onChange` or the time-out ends. */
  const holds = (from: number): boolean => {
    clearTimeout(held);
    const patience = from + KEY_SET_PATIENCE_MS - performance.now();
    if (publisher.snapshot === undefined || !inputs.untriedKeys() || patience <= 0) return false;
    held = setTimeout(publish, patience);
    return true;
  };
  const publish = (): void => {
    const from = since ?? performance.now();
    since = from;
    try {
      const next = inputs.current();
      if (holds(from)) return;
      since = undefined;
      const snapshot = nextSnapshot(publisher.snapshot, next);
      onPublish(from);
      publisher.publish(snapshot);
      firstError = true;
    } catch (error) {
      since = undefined;
      // The last snapshot stays in force; a defect in one rebuild must not take every proxy's configuration down.
      if (firstError) logger.error('snapshot could not be built; the last one stays in force', { error });
      firstError = false;
    }
  };
  const debouncer = createDebouncer({ quiet: QUIET, max: MAX_DELAY, timers: systemTimers }, publish);
  const onChange = (): void => {
    if (!started) return;
    since ??= performance.now();
    debouncer.touch();
  };
  const stop = (): void => {
    debouncer.close();
    clearTimeout(held);
  };
  signal.addEventListener('abort', stop, { once: true });
  const inputs = await followInputs({ ...options, onChange });

  return {
    inputs,
    async start() {
      await inputs.synced;
      started = true;
      publish();
    },
  };
}
