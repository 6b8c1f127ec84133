import { chmod, chown, mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MeshError } from '../../lib/errors.ts';
import { TEMPORARY_SUFFIX } from './directory-scan.ts';

export interface WriteOptions {
  /** Whether nobody but the owner may read the file. */
  readonly secret: boolean;
  /** Runs just before the new content takes effect; throws to leave everything as it was. */
  readonly beforeCommit: () => Promise<void>;
  /** Becomes the file's time of modification. */
  readonly modifiedAt?: Date;
}

/** Puts new content in a file's place so that a reader, or a crash, finds either the old or the new content whole. Throws MeshError. */
export async function writeAtomically(path: string, text: string, options: WriteOptions): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path).slice(0, 200)}.${process.pid}${TEMPORARY_SUFFIX}`);
  try {
    await makeDirectories(dirname(path), options.secret);
    await writeDurably(temporary, path, text, options);
    await options.beforeCommit();
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw storageError(error, `cannot write ${path}`);
  }
}

/** Removes a file so that it stays removed after a crash. Throws MeshError. */
export async function removeDurably(path: string, beforeCommit: () => Promise<void>): Promise<void> {
  try {
    await beforeCommit();
    await rm(path, { force: true });
    await syncDirectory(dirname(path));
  } catch (error) {
    throw storageError(error, `cannot remove ${path}`);
  }
}

async function makeDirectories(directory: string, secret: boolean): Promise<void> {
  const made = await mkdir(directory, { recursive: true });
  if (made === undefined) return;
  if (secret) await chmod(directory, 0o700);
  await syncDirectory(dirname(made));
}

async function writeDurably(temporary: string, path: string, text: string, options: WriteOptions): Promise<void> {
  const before = await stat(path).catch(() => undefined);
  const mode = options.secret ? 0o600 : (before?.mode ?? 0o644) & 0o777;
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.chmod(mode);
    const isForeign = before !== undefined && before.uid !== process.getuid?.();
    if (isForeign) await chown(temporary, before.uid, before.gid);
    if (options.modifiedAt !== undefined) await utimes(temporary, options.modifiedAt, options.modifiedAt);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** A failure of the file system, in words that say what to do. */
export function storageError(error: unknown, what: string): MeshError {
  if (error instanceof MeshError) return error;
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new MeshError('resource_exhausted', `${what}: no space left; nothing was changed`, error);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new MeshError(
        'permission_denied',
        `${what}: ${code === 'EROFS' ? 'the file system is read-only' : 'permission denied'}; nothing was changed`,
        error,
      );
    default:
      return new MeshError('unavailable', `${what}: ${MeshError.from(error).message}`, error);
  }
}
