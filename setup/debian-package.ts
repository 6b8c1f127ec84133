/** Programs out of Debian's packages, unpacked beside whatever the system has: installing the package of a server would start it. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { apt, canInstall } from './system.ts';

/** Unpacks packages into a directory; throws with the command that would help when they cannot be had. */
export function unpackPackages(packages: readonly string[], directory: string): void {
  const names = packages.join(' ');
  if (!existsSync('/usr/bin/apt-get')) throw new Error(`this system has no apt-get to get ${names} with`);
  if (!download(packages, directory) && !(canInstall() && apt(['update']) && download(packages, directory)))
    throw new Error(`apt-get could not download ${names}; run: sudo apt-get install ${names}`);
  const archives = readdirSync(directory).filter((file) => file.endsWith('.deb'));
  if (archives.length < packages.length) throw new Error(`apt-get did not download all of ${names}`);
  for (const archive of archives) {
    const { status } = spawnSync('dpkg-deb', ['-x', join(directory, archive), directory], { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error(`dpkg-deb could not unpack ${archive}; its message stands above`);
  }
}

function download(packages: readonly string[], directory: string): boolean {
  const { status } = spawnSync('apt-get', ['-qq', '-o', 'APT::Sandbox::User=root', 'download', ...packages], {
    cwd: directory,
    stdio: ['ignore', 2, 2],
  });
  return status === 0;
}
