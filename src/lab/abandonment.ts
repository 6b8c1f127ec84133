/** Notices that a lab's state directory was removed, or taken over: nobody could find such a lab, or end it, any more. */
import { readFileSync } from 'node:fs';
import type { Logger } from '../io/log/logger.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import type { LabPaths } from './paths.ts';

const EVERY: Duration = seconds(1);

export interface Ownership {
  /** Aborted when the directory is this lab's no longer. */
  readonly lost: AbortSignal;
  /** Whether the directory still says that this very lab runs in it. */
  holds(): boolean;
  stop(): void;
}

/** What the directory says now is this lab; from now on it must go on saying so. */
export function watchOwnership({ dir, runState }: LabPaths, logger: Logger): Ownership {
  const own = read(runState);
  const controller = new AbortController();
  const holds = (): boolean => read(runState) === own;
  const timer = setInterval(() => {
    if (holds()) return;
    clearInterval(timer);
    logger.error('the state directory was removed or taken over; the lab ends', { dir });
    controller.abort();
  }, EVERY);
  return { lost: controller.signal, holds, stop: () => clearInterval(timer) };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
