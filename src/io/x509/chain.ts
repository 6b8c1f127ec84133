/** Certificates of others: checking that they lead to a root, and whom they name. */
import type { X509Certificate } from 'node:crypto';
import type { Parsed, Problem } from '../../lib/errors.ts';
import { parseSpiffeId, type SpiffeId } from '../../lib/spiffe.ts';
import { readDetails } from './certificate-details.ts';

export { parseCertificateChain } from './certificate-chain.ts';

const MAX_DEPTH = 8;
const KEY_CERT_SIGN = 5;

export interface Chain {
  readonly leaf: X509Certificate;
  /** In any order. */
  readonly intermediates: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
}

/** What keeps a certificate from being trusted at a time: no path to a root, a certificate out of its validity, an issuer that is no CA. */
export function checkChain(chain: Chain, now: Date): readonly Problem[] {
  let current = chain.leaf;
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const problems = validityProblems(current, now);
    if (problems.length > 0) return problems;
    if (chain.roots.some((root) => root.raw.equals(current.raw))) return [];
    if (isIssuedBy(current, current)) return [problem(current, 'is self-signed and not one of the given roots')];
    const issuer = [...chain.roots, ...chain.intermediates].find((candidate) => isIssuedBy(current, candidate));
    if (issuer === undefined) return [problem(current, 'is not issued by any of the given roots or intermediates')];
    const unfit = caProblems(issuer, depth);
    if (unfit.length > 0) return unfit;
    current = issuer;
  }
  return [problem(chain.leaf, `has more than ${MAX_DEPTH} issuers above it`)];
}

/** Name, key identifiers and signature all fit. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    return false;
  }
}

export function validityProblems(certificate: X509Certificate, now: Date): readonly Problem[] {
  const { validFromDate: from, validToDate: to } = certificate;
  if (now < from) return [problem(certificate, `is not valid before ${from.toISOString()}`)];
  if (now > to) return [problem(certificate, `expired at ${to.toISOString()}`)];
  return [];
}

/** What keeps a certificate from issuing others; `below` counts the CAs between it and the end of the chain. */
export function caProblems(certificate: X509Certificate, below: number): readonly Problem[] {
  const details = readDetails(certificate);
  if (!details.ok) return details.problems;
  const { isCa, keyUsage, pathLength } = details.value;
  if (!isCa) return [problem(certificate, 'is not a certificate authority (basic constraints CA:TRUE is missing)')];
  if (keyUsage !== undefined && !keyUsage.has(KEY_CERT_SIGN)) {
    return [problem(certificate, 'must not sign certificates (key usage keyCertSign is missing)')];
  }
  if (pathLength !== undefined && pathLength < below) {
    return [problem(certificate, `allows only ${pathLength} certificate authorities below it`)];
  }
  return [];
}

/** Whether what a certificate signs may have URI names of a host (name constraints, RFC 5280, 4.2.1.10). */
export function permitsUriHost(certificate: X509Certificate, host: string): boolean {
  const details = readDetails(certificate);
  if (!details.ok) return false;
  const { permitted, excluded } = details.value.uriConstraints;
  const covers = (tree: string): boolean => (tree.startsWith('.') ? host.endsWith(tree) : host === tree);
  return (permitted === undefined || permitted.some(covers)) && !excluded.some(covers);
}

/** The one SPIFFE ID of a workload's certificate (X.509-SVID: exactly one URI name). */
export function spiffeIdOf(certificate: X509Certificate): Parsed<SpiffeId> {
  const details = readDetails(certificate);
  if (!details.ok) return details;
  const uris = details.value.altNames.filter(({ type }) => type === 'uri');
  const [uri, ...more] = uris;
  if (uri === undefined) return bad('the certificate names no identity (it has no URI name)');
  if (more.length > 0) return bad(`the certificate names ${uris.length} identities; one is expected`);
  return parseSpiffeId(uri.value);
}

/** `CN=x (serial 01AB)` of a certificate, for messages. */
export function describeCertificate(certificate: X509Certificate): string {
  const subject = certificate.subject?.replaceAll('\n', ', ') ?? '';
  return `${subject === '' ? 'a certificate without subject' : subject} (serial ${certificate.serialNumber})`;
}

function problem(certificate: X509Certificate, message: string): Problem {
  return { path: '', message: `${describeCertificate(certificate)} ${message}` };
}

function bad(message: string): Parsed<never> {
  return { ok: false, problems: [{ path: '', message }] };
}
