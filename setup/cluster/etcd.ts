/**
 * Gets etcd where the system has none: the program in Debian's package etcd-server, unpacked into the user's cache. Installing the
 * package would also start a database on the machine that nobody asked for.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unpackPackages } from '../debian-package.ts';
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
    unpackPackages([PACKAGE], work);
    renameSync(join(work, 'usr/bin/etcd'), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
