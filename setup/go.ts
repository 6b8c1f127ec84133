/** Finds Go, or installs it: needed by tests alone, so that where there is none they are skipped and nothing else suffers. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { apt, canInstall } from './system.ts';

const USUAL_PLACES = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'];

/** The program, or `undefined` when there is none and none can be installed; says on stderr when it installs, and what for. */
export function ensureGo(purpose: string): string | undefined {
  return findGo() ?? installGo(purpose);
}

/**
 * The environment of a build: a workspace around it, or flags such as -mod=vendor that are meant for the user's own modules, are none
 * of its business. Go's temporary files go into `work`.
 */
export function goEnvironment(env: NodeJS.ProcessEnv, work: string): NodeJS.ProcessEnv {
  return { ...env, GOWORK: 'off', GOFLAGS: '-mod=readonly', GOTMPDIR: resolve(work) };
}

function findGo(): string | undefined {
  return USUAL_PLACES.find((program) => spawnSync(program, ['version'], { stdio: 'ignore' }).status === 0);
}

function installGo(purpose: string): string | undefined {
  if (!canInstall()) return undefined;
  process.stderr.write(`setup: Go for ${purpose} (golang-go) ...\n`);
  const install = ['install', '-y', '--no-install-recommends', 'golang-go'];
  if (!apt(install) && apt(['update'])) apt(install);
  return findGo();
}
