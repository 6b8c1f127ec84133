import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from '../io/log/logger.ts';
import { parseCertificateChain } from '../io/x509/chain.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import type { Clock } from './clock.ts';
import type { SecretHolder } from './secrets.ts';

/** File events get lost on some file systems; this is how late a change is seen then. */
const REREAD: Duration = seconds(10);
/** How often a file that is not there yet is looked for. */
const RETRY: Duration = seconds(0.5);

/**
 * Keeps the holder's roots as the file has them until the signal aborts. A file that is missing or broken leaves the roots
 * as they were.
 */
export async function followRootFile(
  file: string,
  holder: SecretHolder,
  clock: Clock,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  let problem = '';
  while (!signal.aborted) {
    const found = watchFolder(dirname(file), signal);
    const read = await readRoots(file);
    if (read.ok && read.pem !== holder.current.rootsPem) {
      logger.info('the root certificates were read', { file });
      holder.set({ rootsPem: read.pem });
    }
    const newProblem = read.ok ? '' : read.problem;
    if (newProblem !== '' && newProblem !== problem) {
      logger.warn(
        holder.current.rootsPem === undefined ? 'waiting for the root certificates' : 'the root certificates stay as they were',
        {
          file,
          error: newProblem,
        },
      );
    }
    problem = newProblem;
    await Promise.race([found.changed, clock.sleep(read.ok ? REREAD : RETRY, found.signal).catch(() => {})]);
    found.stop();
  }
}

type RootsRead = { readonly ok: true; readonly pem: string } | { readonly ok: false; readonly problem: string };

async function readRoots(file: string): Promise<RootsRead> {
  try {
    const pem = await readFile(file, 'utf8');
    const certificates = parseCertificateChain(pem);
    if (!certificates.ok) return { ok: false, problem: certificates.problems.map(formatProblem).join('; ') };
    return certificates.value.length === 0 ? { ok: false, problem: 'it has no certificate' } : { ok: true, pem };
  } catch (thrown) {
    return { ok: false, problem: MeshError.from(thrown).message };
  }
}

/** Projected volumes replace a link in the folder, so the folder is what tells of a change. */
function watchFolder(folder: string, parent: AbortSignal): { changed: Promise<void>; signal: AbortSignal; stop: () => void } {
  const stopped = new AbortController();
  const signal = AbortSignal.any([parent, stopped.signal]);
  const changed = new Promise<void>((resolve) => {
    try {
      watch(folder, { signal, persistent: false }, () => resolve()).on('error', () => {});
    } catch {
      // There is no such folder yet: reading again in a while finds it.
    }
  });
  return { changed, signal, stop: () => stopped.abort() };
}
