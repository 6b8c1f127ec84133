/** A step of the set-up: skipped when its inputs are what they were when it last succeeded. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

export interface Step {
  readonly name: string;
  /** A text that changes whenever the step must run again. */
  stamp(): string;
  /** A path that must exist for the step to count as done. */
  readonly output: string;
  run(): void | Promise<void>;
}

const STAMP_DIR = 'build/stamps';

/** Hashes the content of files, in order. */
export function stampOf(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
}

/** Runs a step unless it is up to date; says so on stderr when it runs. */
export async function runStep(step: Step): Promise<void> {
  const stampFile = `${STAMP_DIR}/${step.name.replaceAll(' ', '-')}`;
  const stamp = step.stamp();
  if (existsSync(step.output) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  const started = Date.now();
  process.stderr.write(`setup: ${step.name} ...`);
  await step.run();
  mkdirSync(STAMP_DIR, { recursive: true });
  writeFileSync(stampFile, stamp);
  process.stderr.write(` done (${((Date.now() - started) / 1000).toFixed(1)} s)\n`);
}
