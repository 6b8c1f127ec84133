import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MeshError } from '../lib/errors.ts';
import type { Json } from './bootstrap.ts';

/** Writes the file whole or not at all, readable by its owner only. */
export async function writeBootstrap(file: string, bootstrap: Json): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(temporary, `${JSON.stringify(bootstrap, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {});
    throw new MeshError('failed_precondition', `cannot write ${file} (--configPath): ${MeshError.from(cause).message}`, cause);
  }
}
