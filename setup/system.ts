/** System programs the lab and its tests need: installed when root on Debian or Ubuntu, otherwise the command to run is named. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Program -> Debian package. */
const NEEDED: Readonly<Record<string, string>> = {
  curl: 'curl',
  ip: 'iproute2',
  iptables: 'iptables',
  ip6tables: 'iptables',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  unshare: 'util-linux',
  openssl: 'openssl',
};

const EXTRA_DIRS = ['/usr/sbin', '/sbin', '/usr/local/sbin'];

function isInstalled(program: string): boolean {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), ...EXTRA_DIRS];
  return dirs.some((dir) => dir !== '' && existsSync(join(dir, program)));
}

function missingPackages(): string[] {
  const missing = Object.keys(NEEDED).filter((program) => !isInstalled(program));
  return [...new Set(missing.map((program) => NEEDED[program] ?? program))].sort();
}

/** Whether packages can be installed: as root, where there is apt. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
}

/** Runs apt-get without questions; tells whether it succeeded. */
export function apt(args: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('apt-get', ['-qq', '-o', 'Dpkg::Use-Pty=0', ...args], { stdio: ['ignore', 2, 2], env }).status === 0;
}

/** Installs what is missing, or throws with the command that would. */
export function ensureSystemPackages(): void {
  const missing = missingPackages();
  if (missing.length === 0) return;
  const command = `apt-get update && apt-get install -y --no-install-recommends ${missing.join(' ')}`;
  const advice = `system packages are missing: ${missing.join(', ')}; run: sudo sh -c '${command}'`;
  if (!canInstall()) throw new Error(advice);
  process.stderr.write(`setup: system packages (${missing.join(', ')}) ...\n`);
  const install = ['install', '-y', '--no-install-recommends', ...missing];
  if (!apt(install) && !(apt(['update']) && apt(install)))
    throw new Error(`apt-get could not install them; its message stands above. ${advice}`);
  const still = missingPackages();
  if (still.length > 0) throw new Error(`apt-get installed nothing that provides: ${still.join(', ')}`);
}
