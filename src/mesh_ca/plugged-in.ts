/** An authority from files: --signing-cert, --signing-key, --cert-chain and --root-cert, followed while they change. */
import { readFile } from 'node:fs/promises';
import { followFiles } from '../io/file/follow-files.ts';
import type { Logger } from '../io/log/logger.ts';
import { describeCertificate } from '../io/x509/chain.ts';
import { MeshError, type Parsed } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';
import { type Authority, parseAuthority } from './authority.ts';
import { AuthorityHolder } from './live-authority.ts';

/** Absolute paths of the files; the last two may be empty. */
export interface AuthorityFiles {
  readonly signingCert: string;
  readonly signingKey: string;
  readonly certChain: string;
  readonly rootCert: string;
}

type Part = keyof AuthorityFiles;

const FLAGS: Readonly<Record<Part, string>> = {
  signingCert: '--signing-cert',
  signingKey: '--signing-key',
  certChain: '--cert-chain',
  rootCert: '--root-cert',
};
const PARTS = Object.keys(FLAGS) as readonly Part[];

export interface PluggedInOptions {
  readonly files: AuthorityFiles;
  readonly now: () => Date;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Rejects with a MeshError that names the flag and file of everything that is wrong. */
export async function openPluggedIn(files: AuthorityFiles, now: Date): Promise<Authority> {
  const used = usedParts(files);
  const texts: string[] = [];
  for (const part of used) texts.push(await readPart(part, files));
  const authority = parseParts(used, texts, files, now);
  if (authority.ok) return authority.value;
  const told = authority.problems.map(({ path, message }) => `${path}: ${message}`);
  throw new MeshError('failed_precondition', `the certificate authority's files cannot be used: ${told.join('; ')}`);
}

/**
 * The authority of the files, from now on followed until the signal: a swap takes effect once all files fit each other; until
 * then, half of a swap included, the last good authority signs and the log tells what is wrong.
 */
export async function followPluggedIn({ files, now, logger, signal }: PluggedInOptions): Promise<AuthorityHolder> {
  const holder = new AuthorityHolder(await openPluggedIn(files, now()));
  const used = usedParts(files);
  const followed = await followFiles<Authority>({
    paths: used.map((part) => files[part]),
    title: "certificate authority's files",
    parse: (texts) => parseParts(used, texts, files, now()),
    onChange: () => {
      const next = followed.value();
      holder.replace(next);
      const { certificate, validity } = next;
      logger.info('new certificate authority files in force', {
        signing: describeCertificate(certificate),
        expires: validity.notAfter.toISOString(),
        roots: next.roots.map(describeCertificate),
      });
    },
    logger,
    signal,
  });
  return holder;
}

function usedParts(files: AuthorityFiles): readonly Part[] {
  return PARTS.filter((part) => files[part] !== '');
}

function parseParts(used: readonly Part[], texts: readonly string[], files: AuthorityFiles, now: Date): Parsed<Authority> {
  const textOf = (part: Part): string => texts[used.indexOf(part)] ?? '';
  const authority = parseAuthority(
    {
      signingCert: textOf('signingCert'),
      signingKey: new Redacted(textOf('signingKey')),
      certChain: textOf('certChain'),
      rootCert: textOf('rootCert'),
    },
    now,
  );
  if (authority.ok) return authority;
  return { ok: false, problems: authority.problems.map(({ path, message }) => ({ path: placeOf(path, files), message })) };
}

async function readPart(part: Part, files: AuthorityFiles): Promise<string> {
  try {
    return await readFile(files[part], 'utf8');
  } catch (thrown) {
    throw new MeshError('failed_precondition', `${FLAGS[part]} cannot be read: ${MeshError.from(thrown).message}`, thrown);
  }
}

/** `--cert-chain /etc/chain.pem` of the part that a problem's path begins with. */
function placeOf(path: string, files: AuthorityFiles): string {
  const part = PARTS.find((candidate) => path.startsWith(candidate));
  return part === undefined ? path : `${FLAGS[part]} ${files[part]}`.trim();
}
