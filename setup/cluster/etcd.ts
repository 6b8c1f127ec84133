/**
 * Gets etcd where the system has none: the program in Debian's package etcd-server, unpacked into the user's cache. Installing the
 * package would also start a database on the machine that nobody asked for.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { apt, canInstall } from '../system.ts';
import { etcdCachePath, findEtcd } from './programs.ts';

const PACKAGE = 'etcd-server';

/** Throws with the command that would help when etcd is missing and cannot be had. */
export function ensureEtcd(env: NodeJS.ProcessEnv): void {
  if (findEtcd(env) !== undefined) return;
  if (!existsSync('/usr/bin/apt-get')) throw new Error('etcd is missing; put etcd 3.4 or later on the PATH');
  process.stderr.write(`setup: etcd (${PACKAGE}) ...\n`);
  const target = etcdCachePath(env);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), '.unpack-'));
  try {
    if (!download(work) && !(canInstall() && apt(['update']) && download(work)))
      throw new Error(`etcd is missing and apt-get could not download ${PACKAGE}; run: sudo apt-get install ${PACKAGE}`);
    unpack(work);
    renameSync(join(work, 'usr/bin/etcd'), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function download(directory: string): boolean {
  const { status } = spawnSync('apt-get', ['-qq', '-o', 'APT::Sandbox::User=root', 'download', PACKAGE], {
    cwd: directory,
    stdio: ['ignore', 2, 2],
  });
  return status === 0;
}

function unpack(directory: string): void {
  const archive = readdirSync(directory).find((file) => file.endsWith('.deb'));
  if (archive === undefined) throw new Error(`apt-get downloaded no package ${PACKAGE}`);
  const { status } = spawnSync('dpkg-deb', ['-x', archive, '.'], { cwd: directory, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`dpkg-deb could not unpack ${archive}; its message stands above`);
}
