import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MeshError } from '../lib/errors.ts';
import type { Bootstrap } from './bootstrap-source.ts';

/** A file of an epoch, whatever its format. */
const EPOCH_FILE = /^envoy-rev([0-9]+)\.[a-z_]+$/;

/** Where the configuration of a restart epoch is. */
export function bootstrapFile(configPath: string, epoch: number, { extension }: Bootstrap): string {
  return join(configPath, `envoy-rev${epoch}${extension}`);
}

/** Makes the folder of generated configuration, which only its owner can enter. Rejects with a MeshError that names it. */
export async function prepareConfigPath(configPath: string): Promise<void> {
  await mkdir(configPath, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new MeshError('failed_precondition', `cannot make ${configPath} (--configPath): ${reasonOf(cause)}`, cause);
  });
}

/** Writes the file whole or not at all, readable by its owner only. Rejects with a MeshError that names the file. */
export async function writeBootstrap(file: string, { text }: Bootstrap): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {});
    throw new MeshError('failed_precondition', `cannot write ${file} (--configPath): ${reasonOf(cause)}`, cause);
  }
}

function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOSPC') return 'the disk is full';
  if (code === 'EDQUOT') return 'the disk quota is used up';
  return MeshError.from(cause).message;
}

/** Removes the files of all epochs but those that run. What cannot be removed stays: it does no harm. */
export async function removeOtherEpochs(configPath: string, running: readonly number[]): Promise<void> {
  const names = await readdir(configPath).catch(() => []);
  const stale = names.filter((name) => {
    const epoch = EPOCH_FILE.exec(name)?.[1];
    return epoch !== undefined && !running.includes(Number(epoch));
  });
  await Promise.all(stale.map((name) => rm(join(configPath, name), { force: true }).catch(() => {})));
}
