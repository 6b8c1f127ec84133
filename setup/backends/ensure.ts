/** Gets the back ends that mixs is tested against: Redis and Prometheus out of Debian's packages, OPA from its Go module. */
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { unpackPackages } from '../debian-package.ts';
import { ensureGo, goEnvironment } from '../go.ts';
import { startOwned } from '../owned-process.ts';
import { BACKENDS, type Backend, backendDirectory, findBackend, OPA_MODULE, OPA_VERSION } from './programs.ts';

/** With the libraries that a system without them lacks. */
const PACKAGES = {
  redis: ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1'],
  prometheus: ['prometheus'],
} as const;

/** Throws with what to do when a back end cannot be had. */
export async function ensureBackend(backend: Backend, env: NodeJS.ProcessEnv): Promise<void> {
  if (findBackend(backend, env) !== undefined) return;
  const target = backendDirectory(backend, env);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), '.build-'));
  const cleanUp = (): void => rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  try {
    if (backend === 'opa') await buildOpa(env, work, cleanUp);
    else {
      process.stderr.write(`setup: ${backend} for the tests (${PACKAGES[backend].join(', ')}) ...\n`);
      unpackPackages(PACKAGES[backend], work);
    }
    putInPlace(work, target);
  } finally {
    cleanUp();
  }
}

async function buildOpa(env: NodeJS.ProcessEnv, work: string, cleanUp: () => void): Promise<void> {
  const go = ensureGo('the OPA server of the tests');
  if (go === undefined) throw new Error('Go is not installed; install Go 1.25 or later (1.21 or later fetches it by itself)');
  process.stderr.write(`setup: OPA ${OPA_VERSION} for the tests (go install, about a minute, once) ...\n`);
  const options = {
    env: { ...goEnvironment(env, work), GOBIN: resolve(work), CGO_ENABLED: '0' },
    stdio: ['ignore' as const, 2, 2],
  };
  const args = ['install', '-trimpath', '-buildvcs=false', `${OPA_MODULE}@v${OPA_VERSION}`];
  const [status] = await once(startOwned(go, args, options, cleanUp), 'close');
  if (status !== 0) throw new Error(`${go} could not build ${OPA_MODULE}; its message stands above`);
}

/** Another set-up may have been faster; what it got is as good. */
function putInPlace(work: string, target: string): void {
  try {
    renameSync(work, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
}

/** Before a test run: a machine that cannot have one runs the other tests, except in CI, where nothing is skipped. */
export async function ensureBackendsForTests(env: NodeJS.ProcessEnv): Promise<void> {
  for (const backend of BACKENDS) {
    try {
      await ensureBackend(backend, env);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if ((env['CI'] ?? '') !== '') throw new Error(`${backend} cannot be had: ${reason}`);
      process.stderr.write(`setup: ${reason}\nsetup: the tests with a real ${backend} will be skipped\n`);
    }
  }
}
