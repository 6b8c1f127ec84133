import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MeshError } from '../lib/errors.ts';
import { writeBootstrap } from './bootstrap-file.ts';
import type { Bootstrap } from './bootstrap-source.ts';
import type { ProxyConfig } from './config.ts';
import { nodeArguments } from './envoy-arguments.ts';

const TIMEOUT_MS = 30_000;

/** Lets the proxy check a configuration before it is put to use, in a file beside those of the epochs. */
export async function validateCandidate(config: ProxyConfig, bootstrap: Bootstrap, signal: AbortSignal): Promise<void> {
  const file = join(config.configPath, `candidate${bootstrap.extension}`);
  await writeBootstrap(file, bootstrap);
  try {
    await validateBootstrap(config, file, signal);
  } finally {
    await rm(file, { force: true });
  }
}

/**
 * Lets the proxy check its bootstrap without running. Rejects with `invalid` and the proxy's own words when it
 * refuses it, so that a failure that no restart can heal is told from one that passes.
 */
export async function validateBootstrap(config: ProxyConfig, file: string, signal: AbortSignal): Promise<void> {
  const args = ['--mode', 'validate', ...nodeArguments(config), '--log-level', 'error', '--config-path', file];
  try {
    await promisify(execFile)(config.binaryPath, args, { timeout: TIMEOUT_MS, killSignal: 'SIGKILL', signal });
  } catch (cause) {
    if (signal.aborted) throw new MeshError('cancelled', 'the check of the configuration was cancelled', cause);
    const source = config.bootstrap.kind === 'generated' ? file : config.bootstrap.file;
    throw new MeshError(
      'invalid',
      `the proxy ${config.binaryPath} refuses its configuration ${source}: ${lastWords(cause)}`,
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
