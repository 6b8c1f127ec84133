import { readFile } from 'node:fs/promises';
import { followChanges } from '../io/file/file-changes.ts';
import type { Logger } from '../io/log/logger.ts';
import { parseCertificateChain } from '../io/x509/chain.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import type { Clock } from './clock.ts';
import type { SecretHolder } from './secrets.ts';

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
  const read = async (): Promise<boolean> => {
    const roots = await readRoots(file);
    if (roots.ok && roots.pem !== holder.current.rootsPem) {
      logger.info('the root certificates were read', { file });
      holder.set({ rootsPem: roots.pem });
    }
    const newProblem = roots.ok ? '' : roots.problem;
    if (newProblem !== '' && newProblem !== problem) {
      const waiting = holder.current.rootsPem === undefined;
      const message = waiting ? 'waiting for the root certificates' : 'the root certificates stay as they were';
      logger.warn(message, { file, error: newProblem });
    }
    problem = newProblem;
    return roots.ok;
  };
  await followChanges({ paths: [file], read, sleep: clock.sleep.bind(clock), signal });
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
