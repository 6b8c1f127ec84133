/**
 * Builds the grpc-go client that the interoperability tests play calls with (test/interop/grpc-go), into the user's cache. Go is
 * needed by tests alone: where it is missing and cannot be installed, or cannot build, the tests say so and are skipped.
 */
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ensureGo, goEnvironment } from './go.ts';
import { startOwned } from './owned-process.ts';
import { stampOf } from './step.ts';

const SOURCE_DIR = 'test/interop/grpc-go';

/** Where the client is, or will be, for the sources as they are. */
export function grpcGoClientPath(env: NodeJS.ProcessEnv): string {
  const sources = readdirSync(SOURCE_DIR)
    .filter((file) => /\.go$|^go\.(mod|sum)$/.test(file))
    .sort();
  const stamp = stampOf(sources.map((file) => join(SOURCE_DIR, file))).slice(0, 16);
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] ?? '/root', '.cache'), 'mesh/interop', `grpc-go-${stamp}`);
}

/** Builds the client unless it is there; says on stderr what it does, and why it could not. */
export async function ensureGrpcGoClient(env: NodeJS.ProcessEnv): Promise<void> {
  const target = grpcGoClientPath(env);
  if (existsSync(target)) return;
  const go = ensureGo('the tests with grpc-go');
  if (go === undefined) {
    process.stderr.write(
      'setup: Go is not installed, so the tests with grpc-go will be skipped; install Go 1.25 or later to run them\n',
    );
    return;
  }
  process.stderr.write('setup: grpc-go client (go build) ...\n');
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), '.build-'));
  const cleanUp = (): void => rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  const unfinished = join(work, 'client');
  try {
    const args = ['build', '-trimpath', '-buildvcs=false', '-o', unfinished, '.'];
    const options = { cwd: SOURCE_DIR, env: goEnvironment(env, work), stdio: ['ignore' as const, 2, 2] };
    const [status] = await once(startOwned(go, args, options, cleanUp), 'close');
    if (status === 0) renameSync(unfinished, target);
    else process.stderr.write(`setup: ${go} could not build ${SOURCE_DIR}; the tests with grpc-go will be skipped\n`);
  } finally {
    cleanUp();
  }
}
