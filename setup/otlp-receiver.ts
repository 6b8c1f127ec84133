/**
 * Builds the OTLP receiver that the tests of spans and logs send to (setup/otlp-receiver), into the user's cache. Go is needed by tests alone:
 * where it is missing or cannot build, those tests are skipped, except in CI.
 */
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory } from './cluster/programs.ts';
import { ensureGo, goEnvironment } from './go.ts';
import { startOwned } from './owned-process.ts';
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
    await build(target, env);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if ((env['CI'] ?? '') !== '') throw new Error(`the OTLP receiver cannot be had: ${reason}`);
    process.stderr.write(`setup: ${reason}\nsetup: the tests with an OTLP receiver will be skipped\n`);
  }
}

async function build(target: string, env: NodeJS.ProcessEnv): Promise<void> {
  const go = ensureGo('the OTLP receiver of the tests');
  if (go === undefined) throw new Error('Go is not installed; install Go 1.25 or later (1.21 or later fetches it by itself)');
  process.stderr.write('setup: OTLP receiver of the OpenTelemetry collector (go build, once) ...\n');
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), '.build-'));
  const cleanUp = (): void => rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  const unfinished = join(work, 'otlp-receiver');
  try {
    const args = ['build', '-trimpath', '-buildvcs=false', '-o', unfinished, '.'];
    const options = {
      cwd: SOURCE_DIR,
      env: { ...goEnvironment(env, work), CGO_ENABLED: '0' },
      stdio: ['ignore' as const, 2, 2],
    };
    const [status] = await once(startOwned(go, args, options, cleanUp), 'close');
    if (status !== 0) throw new Error(`${go} could not build ${SOURCE_DIR}; its message stands above`);
    renameSync(unfinished, target);
  } finally {
    cleanUp();
  }
}
