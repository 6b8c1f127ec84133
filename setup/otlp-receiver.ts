/**
 * Builds the OTLP receiver that the tests of spans and logs send to (setup/otlp-receiver), into the user's cache. Go is needed by tests alone:
 * where it is missing or cannot build, those tests are skipped, except in CI.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from '../src/lab/kept-programs.ts';
import { buildGoProgram } from './go-program.ts';
import { stampOf } from './step.ts';

const SOURCE_DIR = 'setup/otlp-receiver';
const SOURCES = ['go.mod', 'go.sum', 'main.go'];

/** Where the receiver is, or will be, for the sources as they are. */
export function otlpReceiverPath(env: NodeJS.ProcessEnv): string {
  const stamp = stampOf(SOURCES.map((file) => join(SOURCE_DIR, file))).slice(0, 12);
  return join(cacheDirectory(env), 'otlp-receiver', stamp);
}

/** Builds it unless it is there; says on stderr what it does, and why it could not. */
export async function ensureOtlpReceiver(env: NodeJS.ProcessEnv): Promise<void> {
  const target = otlpReceiverPath(env);
  if (existsSync(target)) return;
  try {
    await buildGoProgram({ title: 'OTLP receiver of the OpenTelemetry collector', source: SOURCE_DIR, target }, env);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if ((env['CI'] ?? '') !== '') throw new Error(`the OTLP receiver cannot be had: ${reason}`);
    process.stderr.write(`setup: ${reason}\nsetup: the tests with an OTLP receiver will be skipped\n`);
  }
}
