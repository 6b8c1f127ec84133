import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { followChanges } from '../io/file/file-changes.ts';
import { readTogether } from '../io/file/read-together.ts';
import type { Logger } from '../io/log/logger.ts';
import type { KeyPair } from '../io/x509/key.ts';
import { MeshError } from '../lib/errors.ts';
import type { Clock } from './clock.ts';
import type { CertificateSource } from './config.ts';
import { checkIdentity } from './identity-check.ts';
import type { AgentMetrics } from './metrics.ts';
import type { WorkloadIdentity } from './pod.ts';
import type { Identity, SecretHolder } from './secrets.ts';

type Files = Extract<CertificateSource, { readonly kind: 'files' }>;

/** What the three files hold together. */
interface FileSet {
  /** Hash over all of them. */
  readonly hash: string;
  readonly identity: Identity;
  readonly rootsPem: string;
}

/** A set that belongs to somebody who should have replaced it by now. */
type Freshness = 'fresh' | 'ageing' | 'expired';

/**
 * Keeps the holder's key and certificates as files have them, until the signal aborts. The files are taken together or not at
 * all: whoever swaps them one by one is waited for, and what cannot be used leaves the last good ones in force.
 */
export async function followCertificateFiles(
  files: Files,
  expected: WorkloadIdentity,
  holder: SecretHolder,
  metrics: AgentMetrics,
  clock: Clock,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  let held: FileSet | undefined;
  let problem = '';
  let freshness: Freshness = 'fresh';
  const read = async (): Promise<boolean> => {
    let good = true;
    try {
      const found = await readFileSet(files, expected, clock.now(), held);
      if (found !== held) {
        held = found;
        holder.set({ identity: found.identity, rootsPem: found.rootsPem });
        metrics.certificateObtained(found.identity.notAfter);
        logger.info('the certificate files were read', {
          file: files.chainFile,
          notAfter: found.identity.notAfter.toISOString(),
        });
      }
      problem = '';
    } catch (thrown) {
      good = false;
      const { message } = MeshError.from(thrown);
      if (message !== problem) {
        metrics.certificateFailed();
        const text =
          held === undefined ? 'waiting for certificate files' : 'the certificate files cannot be used; the last good ones stay';
        logger[held === undefined ? 'warn' : 'error'](text, { error: message });
      }
      problem = message;
    }
    freshness = reportAge(held, freshness, clock.now(), logger);
    return good;
  };
  await followChanges({ paths: [files.chainFile, files.keyFile, files.rootFile], read, sleep: clock.sleep.bind(clock), signal });
}

/** Gives `held` itself when nothing has changed. @throws MeshError for files that are missing or do not belong together */
async function readFileSet(files: Files, expected: WorkloadIdentity, now: Date, held: FileSet | undefined): Promise<FileSet> {
  const paths = [files.chainFile, files.keyFile, files.rootFile];
  const [chainPem = '', keyPem = '', rootsPem = ''] = await readTogether(paths, readText);
  const hash = createHash('sha256')
    .update(JSON.stringify([chainPem, keyPem, rootsPem]))
    .digest('hex');
  if (hash === held?.hash) return held;
  const identity = checkIdentity(chainPem, readKey(keyPem, files.keyFile), rootsPem, expected, now);
  if (identity.ok) return { hash, identity: identity.value, rootsPem };
  const reasons = identity.problems.map((problem) => problem.message).join('; ');
  throw new MeshError('failed_precondition', `${files.chainFile}, ${files.keyFile} and ${files.rootFile}: ${reasons}`);
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${cause.message}`;
    throw new MeshError('not_found', `${file} (--certificatesPath) ${reason}`, cause);
  });
}

function readKey(pem: string, file: string): KeyPair {
  try {
    const privateKey = createPrivateKey(pem);
    return { privateKey, publicKey: createPublicKey(privateKey) };
  } catch (cause) {
    // OpenSSL's message could quote the file.
    throw new MeshError('failed_precondition', `${file} holds no unencrypted private key in PEM form`, cause);
  }
}

/** Logs once when nobody has replaced the files in good time, and once more when they have expired. */
function reportAge(held: FileSet | undefined, before: Freshness, now: Date, logger: Logger): Freshness {
  if (held === undefined) return 'fresh';
  const { notAfter, obtainedAt } = held.identity;
  const left = notAfter.getTime() - now.getTime();
  const freshness = left <= 0 ? 'expired' : left < (notAfter.getTime() - obtainedAt.getTime()) / 4 ? 'ageing' : 'fresh';
  const fields = { notAfter: notAfter.toISOString() };
  if (freshness === before) return freshness;
  if (freshness === 'expired')
    logger.error('the certificate has expired and its files were not replaced: peers refuse this workload', fields);
  if (freshness === 'ageing') logger.error('the certificate expires soon and its files were not replaced', fields);
  return freshness;
}
