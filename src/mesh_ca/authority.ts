/** The certificate authority itself: a signing certificate with its key, and the way from it to the roots. Checked as a whole when it is made. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type IssuerKey, signCertificate } from '../io/x509/certificate.ts';
import { readDetails } from '../io/x509/certificate-details.ts';
import { caProblems, checkChain, isIssuedBy, parseCertificateChain, validityProblems } from '../io/x509/chain.ts';
import { issuedProblems } from '../io/x509/issued.ts';
import { publicKeyProblems } from '../io/x509/key.ts';
import { encodePem } from '../io/x509/pem.ts';
import type { CertificateTemplate, Validity } from '../io/x509/template.ts';
import { type Duration, milliseconds } from '../lib/duration.ts';
import { MeshError, type Parsed, type Problem } from '../lib/errors.ts';
import type { Redacted } from '../lib/redacted.ts';

export interface Authority {
  readonly certificate: X509Certificate;
  readonly issuerKey: IssuerKey;
  /** What stands between an issued certificate and a root, in order: the signing certificate first. Empty when that is a root itself. */
  readonly intermediates: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
  /** When it can issue: the shortest validity on the way to the root. */
  readonly validity: Validity;
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
    const message = 'is not a private key in PEM without a passphrase (PKCS#8, PKCS#1 or SEC1)';
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
  if (problems.length === 0) problems.push(...at('certChain', checkChain({ leaf: signing, intermediates: chain, roots }, now)));
  if (problems.length > 0) return { ok: false, problems };
  const intermediates = isRoot ? [] : pathBelowRoot(signing, chain, roots);
  const { subjectDer, subjectKeyId } = details.value;
  const issuerKey = { subjectDer, keyId: subjectKeyId, privateKey };
  const validity = shortest([signing, ...intermediates, ...rootOf(intermediates.at(-1) ?? signing, roots)]);
  return { ok: true, value: { certificate: signing, issuerKey, intermediates, roots, validity } };
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
  readonly certificate: X509Certificate;
  /** PEM of the certificate alone. */
  readonly pem: string;
}

/**
 * Signs what a template says and checks the result before anybody gets it. Rejects with `failed_precondition` when the authority
 * itself is out of its validity, and with `internal` when the result is not what was meant.
 */
export async function issue(authority: Authority, template: CertificateTemplate, now: Date): Promise<IssuedCertificate> {
  requireInForce(authority, now);
  const der = await signCertificate(template, authority.issuerKey);
  const certificate = new X509Certificate(der);
  const problems = issuedProblems(certificate, template, authority.certificate);
  if (problems.length > 0) {
    throw new MeshError(
      'internal',
      `the certificate just signed is wrong: it ${problems.map(({ message }) => message).join('; it ')}`,
    );
  }
  return { certificate, pem: encodePem('CERTIFICATE', der) };
}

function requireInForce({ validity }: Authority, now: Date): void {
  if (now >= validity.notBefore && now < validity.notAfter) return;
  const span = `${validity.notBefore.toISOString()} to ${validity.notAfter.toISOString()}`;
  throw new MeshError('failed_precondition', `the certificate authority can issue nothing now: it is valid from ${span}`);
}

/** PEM of the certificates between an issued one and the root. */
export function intermediatePems(authority: Authority): readonly string[] {
  return authority.intermediates.map(({ raw }) => encodePem('CERTIFICATE', raw));
}

/** PEM of every root, for trust bundles. */
export function rootPem(authority: Authority): string {
  return authority.roots.map(({ raw }) => encodePem('CERTIFICATE', raw)).join('');
}

/** PEM of the root that the signing certificate leads to. */
export function issuingRootPem(authority: Authority): string {
  const top = authority.intermediates.at(-1);
  const root = top === undefined ? authority.certificate : rootOf(top, authority.roots)[0];
  return root === undefined ? '' : encodePem('CERTIFICATE', root.raw);
}

/** How long the first certificate on the way to the root still lives. */
export function remainingLife({ validity }: Authority, now: Date): Duration {
  return milliseconds(validity.notAfter.getTime() - now.getTime());
}
