import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MeshError } from '../lib/errors.ts';

const TIMEOUT_MS = 30_000;

/**
 * Lets the proxy check its bootstrap without running. Rejects with `failed_precondition` and the proxy's own words when it
 * refuses it, so that a failure that no restart can heal is told from one that passes.
 */
export async function validateBootstrap(binary: string, file: string): Promise<void> {
  const args = ['--mode', 'validate', '--log-level', 'error', '--config-path', file];
  try {
    await promisify(execFile)(binary, args, { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' });
  } catch (cause) {
    throw new MeshError(
      'failed_precondition',
      `the proxy ${binary} refuses its configuration ${file}: ${lastWords(cause)}`,
      cause,
    );
  }
}

function lastWords(cause: unknown): string {
  const stderr = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
  const line =
    stderr
      .split('\n')
      .at(-1)
      ?.replace(/^(\[[^\]]*\]\s*)+/, '') ?? '';
  return line === '' ? (MeshError.from(cause).message.split('\n')[0] ?? '') : line;
}
