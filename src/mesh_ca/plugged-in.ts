/** An authority from files: --signing-cert, --signing-key, --cert-chain and --root-cert. */
import { readFile } from 'node:fs/promises';
import { MeshError } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';
import { type Authority, type AuthorityMaterial, parseAuthority } from './authority.ts';

/** Paths of the files; the last two may be empty. */
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

/** Rejects with a MeshError that names the flag and file of everything that is wrong. */
export async function openPluggedIn(files: AuthorityFiles, now: Date): Promise<Authority> {
  const [signingCert, signingKey, certChain, rootCert] = await Promise.all([
    readPart('signingCert', files),
    readPart('signingKey', files),
    readPart('certChain', files),
    readPart('rootCert', files),
  ]);
  const material: AuthorityMaterial = { signingCert, signingKey: new Redacted(signingKey), certChain, rootCert };
  const authority = parseAuthority(material, now);
  if (authority.ok) return authority.value;
  const told = authority.problems.map(({ path, message }) => `${placeOf(path, files)}: ${message}`);
  throw new MeshError('failed_precondition', `the certificate authority's files cannot be used: ${told.join('; ')}`);
}

async function readPart(part: Part, files: AuthorityFiles): Promise<string> {
  if (files[part] === '') return '';
  try {
    return await readFile(files[part], 'utf8');
  } catch (thrown) {
    throw new MeshError('failed_precondition', `${FLAGS[part]} cannot be read: ${MeshError.from(thrown).message}`, thrown);
  }
}

function placeOf(path: string, files: AuthorityFiles): string {
  const part = (Object.keys(FLAGS) as Part[]).find((candidate) => path.startsWith(candidate));
  return part === undefined ? path : `${FLAGS[part]} ${files[part]}`.trim();
}
