/** Finds Go, or installs it: needed by tests alone, so that where there is none they are skipped and nothing else suffers. */
import { spawnSync } from 'node:child_process';
import { apt, canInstall } from './system.ts';

const USUAL_PLACES = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'];

/** The program, or `undefined` when there is none and none can be installed; says on stderr when it installs, and what for. */
export function ensureGo(purpose: string): string | undefined {
  return findGo() ?? installGo(purpose);
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
