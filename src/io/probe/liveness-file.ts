/** The liveness file: kept fresh as long as a server really works; `probe` looks at its age. */
import { writeFile } from 'node:fs/promises';
import { setInterval } from 'node:timers/promises';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Logger } from '../log/logger.ts';

export interface LivenessFile {
  readonly path: string;
  /** How old the file may become; it is touched twice as often. */
  readonly interval: Duration;
  /** Between checks of the server. */
  readonly checkInterval: Duration;
}

export interface LivenessOptions extends LivenessFile {
  /** What is checked, for the log: `the certificate authority`. */
  readonly title: string;
  /** What the file says, beside its age; `ok` by default. */
  readonly content?: () => string;
  /** Rejects when it does not work. */
  readonly check: () => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Touches the file until the signal is aborted, except while the latest check failed. The first check comes before the first touch. */
export async function keepLivenessFile(options: LivenessOptions): Promise<void> {
  let healthy = await passes(options);
  const touching = repeat(options.interval / 2, options, async () => {
    if (healthy) await touch(options);
  });
  const checking = repeat(options.checkInterval, options, async () => {
    healthy = await passes(options);
  });
  if (healthy) await touch(options);
  await Promise.all([touching, checking]);
}

async function repeat(ms: number, { signal }: LivenessOptions, run: () => Promise<void>): Promise<void> {
  try {
    for await (const _ of setInterval(ms, undefined, { signal })) await run();
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

async function passes({ title, check, logger }: LivenessOptions): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (thrown) {
    logger.error(`${title} does not work: the liveness file is not renewed`, {
      reason: MeshError.from(thrown).message,
    });
    return false;
  }
}

async function touch({ path, content, logger }: LivenessOptions): Promise<void> {
  try {
    await writeFile(path, content?.() ?? 'ok');
  } catch (thrown) {
    logger.error('the liveness file cannot be written', { path, reason: MeshError.from(thrown).message });
  }
}
