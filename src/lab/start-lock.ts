import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { MeshError } from '../lib/errors.ts';
import type { LabPaths } from './paths.ts';
import { identify, isRunning, type ProcessIdentity } from './process-identity.ts';

/** Lets one process at a time start a lab in a directory. Throws `failed_precondition` while another one does so. */
export async function withStartLock<T>(paths: LabPaths, task: () => Promise<T>): Promise<T> {
  const path = `${paths.dir}/start.lock`;
  take(path);
  try {
    return await task();
  } finally {
    rmSync(path, { force: true });
  }
}

function take(path: string): void {
  const content = JSON.stringify(identify(process.pid));
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
    return;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new MeshError(
        'failed_precondition',
        `${dirname(path)} cannot be written to: ${MeshError.from(error).message}; name another directory by --dir`,
        error,
      );
    }
  }
  const holder = readHolder(path);
  if (holder !== undefined && isRunning(holder)) {
    throw new MeshError(
      'failed_precondition',
      `process ${holder.pid} is starting a lab in ${dirname(path)}; wait for it, or name another directory by --dir`,
    );
  }
  // Left by a process that was killed.
  writeFileSync(path, content, { mode: 0o600 });
}

function readHolder(path: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}
