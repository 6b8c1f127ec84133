import { readFileSync, readlinkSync } from 'node:fs';
import { open, readFile, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { MeshError } from '../../lib/errors.ts';
import { storageError } from './atomic-write.ts';

/** Who holds a lock; written into the lock file, so that others see whether that process still lives. */
interface Holder {
  readonly token: string;
  readonly pid: number;
  /** Together with the pid these tell a process from every other, on this and other machines; empty where the system does not tell. */
  readonly boot: string;
  readonly pidNamespace: string;
  readonly started: string;
}

export interface LockDeps {
  /** Gives a text that nobody else has. */
  readonly newToken: () => string;
  readonly now: () => Date;
}

export interface Lock {
  /** Throws `unavailable` when somebody else took the lock for dead. */
  assertHeld(): Promise<void>;
  release(): Promise<void>;
}

/** How long to wait for others, who hold the lock for milliseconds. */
const WAIT_MS = 10_000;
/** A lock older than this is nobody's, whatever its holder looks like: it was stopped, or lives on another machine. */
const STALE_MS = 30_000;
/** A lock file that says nothing is one whose holder is just writing it, or died there. */
const UNWRITTEN_MS = 2_000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 20;

/**
 * Takes the lock that a file stands for, among all processes that use the directory. A lock whose holder is dead is taken over.
 * Throws MeshError.
 */
export async function acquireLock(path: string, { newToken, now }: LockDeps): Promise<Lock> {
  const holder: Holder = { token: newToken(), pid: process.pid, ...surroundings(), started: startOf(process.pid) };
  const deadline = performance.now() + WAIT_MS;
  for (let pause = FIRST_PAUSE_MS; !(await tryCreate(path, holder)); pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if (await isStale(path, now)) await breakLock(path, holder, now);
    else if (performance.now() > deadline) throw heldTooLong(path, await readHolder(path));
    else await sleep(pause);
  }
  return {
    async assertHeld() {
      if ((await readHolder(path))?.token === holder.token) return;
      throw new MeshError('unavailable', `the lock ${path} was taken over by another process; nothing was changed, try again`);
    },
    async release() {
      if ((await readHolder(path))?.token === holder.token) await rm(path, { force: true });
    },
  };
}

async function tryCreate(path: string, holder: Holder): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o644);
    try {
      await file.writeFile(JSON.stringify(holder));
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw storageError(error, `cannot lock the store (${path})`);
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

async function isStale(path: string, now: () => Date): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return false;
  const age = now().getTime() - found.mtimeMs;
  if (age > STALE_MS) return true;
  const holder = await readHolder(path);
  if (holder === undefined) return age > UNWRITTEN_MS;
  return isDead(holder);
}

/** Only a process of the same machine and process namespace can be seen to be dead. */
function isDead(holder: Holder): boolean {
  const { boot, pidNamespace } = surroundings();
  if (holder.boot !== boot || holder.pidNamespace !== pidNamespace) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const started = startOf(holder.pid);
  return started !== '' && started !== holder.started;
}

/** Removes a stale lock. A second lock sees to it that of several who noticed, none removes the lock of the one who was first. */
async function breakLock(path: string, holder: Holder, now: () => Date): Promise<void> {
  const guard = `${path}.break`;
  if (!(await tryCreate(guard, holder))) {
    const found = await stat(guard).catch(() => undefined);
    if (found !== undefined && now().getTime() - found.mtimeMs > STALE_MS) await rm(guard, { force: true });
    await sleep(LONGEST_PAUSE_MS);
    return;
  }
  try {
    if (await isStale(path, now)) await rm(path, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
}

function heldTooLong(path: string, holder: Holder | undefined): MeshError {
  const who = holder === undefined ? 'another process' : `process ${holder.pid}`;
  return new MeshError(
    'unavailable',
    `the store is locked by ${who} (${path}) since more than ${WAIT_MS / 1000} s; nothing was changed`,
  );
}

function surroundings(): { readonly boot: string; readonly pidNamespace: string } {
  return {
    boot: attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    pidNamespace: attempt(() => readlinkSync('/proc/self/ns/pid')),
  };
}

/** When a process was started, in ticks since the boot: the 22nd field of proc_pid_stat(5). */
function startOf(pid: number): string {
  return attempt(
    () =>
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[19] ?? '',
  );
}

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
