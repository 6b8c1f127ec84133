/** The certificate authority itself: a signing certificate with its key, and the way from it to the roots. Checked as a whole when it is made. */
import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { type IssuerKey, signCertificate } from '../io/x509/certificate.ts';
import { readDetails } from '../io/x509/certificate-details.ts';
import {
  caProblems,
  checkChain,
  describeCertificate,
  isIssuedBy,
  parseCertificateChain,
  validityProblems,
} from '../io/x509/chain.ts';
import { type Issuer, issuedProblems, issuerOf } from '../io/x509/issued.ts';
import { publicKeyProblems } from '../io/x509/key.ts';
import { encodePem } from '../io/x509/pem.ts';
import type { CertificateTemplate, Validity } from '../io/x509/template.ts';
import { type Duration, milliseconds } from '../lib/duration.ts';
import { MeshError, type Parsed, type Problem } from '../lib/errors.ts';
import type { Redacted } from '../lib/redacted.ts';

export interface Authority {
  readonly certificate: X509Certificate;
  readonly issuerKey: IssuerKey;
  /** The same as what is checked against. */
  readonly issuer: Issuer;
  /** What stands between an issued certificate and a root, in order: the signing certificate first. Empty when that is a root itself. */
  readonly intermediates: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
  /** The signing certificate, what stands above it, and the root. */
  readonly path: readonly X509Certificate[];
  /** When it can issue: the shortest validity on the way to the root. */
  readonly validity: Validity;
  /** How many further authorities may stand between the signing certificate and a workload's; infinite without a path length. */
  readonly depthBelow: number;
  readonly pems: AuthorityPems;
}

/** As they go into answers and trust bundles. */
interface AuthorityPems {
  readonly intermediates: readonly string[];
  readonly roots: string;
  readonly issuingRoot: string;
}

/** PEM texts of an authority. */
export interface AuthorityMaterial {
  readonly signingCert: string;
  readonly signingKey: Redacted;
  /** Certificates between the signing certificate and the root; may hold either of them too. Empty: none. */
  readonly certChain: string;
  /** Empty: the signing certificate is the root. */
  readonly rootCert: string;
}

/** An authority from its parts, or everything that is wrong with them; paths are the names of the parts. */
export function parseAuthority(material: AuthorityMaterial, now: Date): Parsed<Authority> {
  const problems: Problem[] = [];
  const read = (path: string, pem: string): readonly X509Certificate[] => {
    const parsed = parseCertificateChain(pem);
    if (parsed.ok) return parsed.value;
    problems.push(...parsed.problems.map((problem) => ({ path: `${path}${problem.path}`, message: problem.message })));
    return [];
  };
  const [signing, ...following] = read('signingCert', material.signingCert);
  const chain = material.certChain === '' ? [] : read('certChain', material.certChain);
  const roots = material.rootCert === '' ? [] : read('rootCert', material.rootCert);
  const privateKey = readKey(material.signingKey);
  if (!privateKey.ok) problems.push(...privateKey.problems);
  if (problems.length > 0 || signing === undefined || !privateKey.ok) return { ok: false, problems };
  return joinAuthority(signing, privateKey.value, [...following, ...chain], roots.length === 0 ? [signing] : roots, now);
}

function readKey(pem: Redacted): Parsed<KeyObject> {
  try {
    return { ok: true, value: createPrivateKey(pem.reveal()) };
  } catch {
    const isEncrypted = /^-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(pem.reveal());
    const message = isEncrypted
      ? 'is encrypted: give a private key without a passphrase'
      : 'is not a private key in PEM without a passphrase (PKCS#8, PKCS#1 or SEC1)';
    return { ok: false, problems: [{ path: 'signingKey', message }] };
  }
}

function joinAuthority(
  signing: X509Certificate,
  privateKey: KeyObject,
  chain: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  now: Date,
): Parsed<Authority> {
  const details = readDetails(signing);
  if (!details.ok) return details;
  const isRoot = roots.some((root) => root.raw.equals(signing.raw));
  const problems: Problem[] = [...at('signingCert', [...publicKeyProblems(signing.publicKey), ...caProblems(signing, 0)])];
  if (!signing.checkPrivateKey(privateKey)) {
    problems.push({ path: 'signingKey', message: 'is not the key of the signing certificate' });
  }
  problems.push(...at('signingCert', validityProblems(signing, now)));
  problems.push(...at('rootCert', roots.flatMap(rootProblems)));
  if (problems.length === 0) problems.push(...at('certChain', checkChain({ leaf: signing, intermediates: chain, roots }, now)));
  if (problems.length > 0) return { ok: false, problems };
  const intermediates = isRoot ? [] : pathBelowRoot(signing, chain, roots);
  const { subjectDer, subjectKeyId } = details.value;
  const issuerKey = { subjectDer, keyId: subjectKeyId, privateKey };
  const path = isRoot ? [signing] : [...intermediates, ...rootOf(intermediates.at(-1) ?? signing, roots)];
  const depthBelow = Math.min(...path.map((certificate, below) => pathLengthOf(certificate) - below));
  const validity = shortest(path);
  const pems = {
    intermediates: intermediates.map(pemOf),
    roots: roots.map(pemOf).join(''),
    issuingRoot: pemOf(path.at(-1) ?? signing),
  };
  const issuer = issuerOf(signing);
  return {
    ok: true,
    value: { certificate: signing, issuerKey, issuer, intermediates, roots, path, validity, depthBelow, pems },
  };
}

function pemOf({ raw }: X509Certificate): string {
  return encodePem('CERTIFICATE', raw);
}

function pathLengthOf(certificate: X509Certificate): number {
  const details = readDetails(certificate);
  return (details.ok ? details.value.pathLength : 0) ?? Number.POSITIVE_INFINITY;
}

/** Roots are what everybody is told to trust, so nothing else may slip in among them. */
function rootProblems(root: X509Certificate): readonly Problem[] {
  const message = `${describeCertificate(root)} is not issued by itself, so it is no root`;
  return isIssuedBy(root, root) ? caProblems(root, 0) : [{ path: '', message }];
}

/** The signing certificate and its issuers, the root left out; the chain is known to lead to one. */
function pathBelowRoot(
  signing: X509Certificate,
  chain: readonly X509Certificate[],
  roots: readonly X509Certificate[],
): readonly X509Certificate[] {
  const path = [signing];
  while (rootOf(path.at(-1) ?? signing, roots).length === 0) {
    const below = path.at(-1) ?? signing;
    const next = chain.find((candidate) => !path.includes(candidate) && isIssuedBy(below, candidate));
    if (next === undefined) break;
    path.push(next);
  }
  return path;
}

function rootOf(certificate: X509Certificate, roots: readonly X509Certificate[]): readonly X509Certificate[] {
  const root = roots.find((candidate) => isIssuedBy(certificate, candidate));
  return root === undefined ? [] : [root];
}

function shortest(path: readonly X509Certificate[]): Validity {
  return {
    notBefore: new Date(Math.max(...path.map(({ validFromDate }) => validFromDate.getTime()))),
    notAfter: new Date(Math.min(...path.map(({ validToDate }) => validToDate.getTime()))),
  };
}

function at(path: string, problems: readonly Problem[]): readonly Problem[] {
  return problems.map(({ message }) => ({ path, message }));
}

export interface IssuedCertificate {
  /** PEM of the certificate alone. */
  readonly pem: string;
  /** In hexadecimal digits, as openssl prints it. */
  readonly serial: string;
  readonly notAfter: Date;
}

/**
 * Signs what a template says and checks the result before anybody gets it. Rejects with `failed_precondition` when the authority
 * itself is out of its validity, and with `internal` when the result is not what was meant.
 */
export async function issue(authority: Authority, template: CertificateTemplate, now: Date): Promise<IssuedCertificate> {
  requireInForce(authority, now);
  const der = await signCertificate(template, authority.issuerKey);
  const problems = issuedProblems(der, template, authority.issuer);
  if (problems.length > 0) {
    throw new MeshError(
      'internal',
      `the certificate just signed is wrong: it ${problems.map(({ message }) => message).join('; it ')}`,
    );
  }
  return { pem: encodePem('CERTIFICATE', der), serial: serialText(template.serial), notAfter: template.notAfter };
}

function serialText(serial: Uint8Array): string {
  const digits = Buffer.from(serial).toString('hex').toUpperCase();
  return digits.startsWith('00') ? digits.replace(/^(00)+(?=..)/, '') : digits;
}

function requireInForce({ validity }: Authority, now: Date): void {
  if (now >= validity.notBefore && now < validity.notAfter) return;
  const span = `${validity.notBefore.toISOString()} to ${validity.notAfter.toISOString()}`;
  throw new MeshError('failed_precondition', `the certificate authority can issue nothing now: it is valid from ${span}`);
}

/** PEM of the certificates between an issued one and the root. */
export function intermediatePems({ pems }: Authority): readonly string[] {
  return pems.intermediates;
}

/** PEM of every root, for trust bundles. */
export function rootPem({ pems }: Authority): string {
  return pems.roots;
}

/** PEM of the root that the signing certificate leads to. */
export function issuingRootPem({ pems }: Authority): string {
  return pems.issuingRoot;
}

/** How long the first certificate on the way to the root still lives. */
export function remainingLife({ validity }: Authority, now: Date): Duration {
  return milliseconds(validity.notAfter.getTime() - now.getTime());
}
