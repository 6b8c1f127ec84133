import type { X509Certificate } from 'node:crypto';
import { checkChain, parseCertificateChain, spiffeIdOf } from '../io/x509/chain.ts';
import { type KeyPair, privateKeyPem, publicKeyDer } from '../io/x509/key.ts';
import type { Parsed, Problem } from '../lib/errors.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import type { WorkloadIdentity } from './pod.ts';
import type { Identity } from './secrets.ts';

/** Key and chain as an identity, if they belong together, name the workload, and lead to the roots; or all that is wrong. */
export function checkIdentity(
  chainPem: string,
  pair: KeyPair,
  rootsPem: string,
  expected: WorkloadIdentity,
  now: Date,
): Parsed<Identity> {
  const chain = parseCertificateChain(chainPem);
  const roots = parseCertificateChain(rootsPem);
  if (!chain.ok) return chain;
  if (!roots.ok) return roots;
  const [leaf, ...others] = chain.value;
  if (leaf === undefined) return { ok: false, problems: [{ path: '', message: 'it has no certificate' }] };
  const problems: Problem[] = [
    ...keyProblems(leaf, pair),
    ...nameProblems(leaf, expected),
    ...checkChain({ leaf, intermediates: others, roots: roots.value }, now),
  ];
  if (problems.length > 0) return { ok: false, problems };
  const isRoot = (certificate: X509Certificate) => roots.value.some((root) => root.raw.equals(certificate.raw));
  const identity: Identity = {
    keyPem: privateKeyPem(pair.privateKey),
    // Peers have the roots of their own; sending ours only makes handshakes longer.
    chainPem: [leaf, ...others.filter((certificate) => !isRoot(certificate))]
      .map((certificate) => certificate.toString())
      .join(''),
    obtainedAt: now,
    notAfter: leaf.validToDate,
  };
  return { ok: true, value: identity };
}

function keyProblems(leaf: X509Certificate, pair: KeyPair): readonly Problem[] {
  const same = Buffer.from(publicKeyDer(leaf.publicKey)).equals(publicKeyDer(pair.publicKey));
  return same ? [] : [{ path: '', message: 'the certificate is for another key' }];
}

function nameProblems(leaf: X509Certificate, expected: WorkloadIdentity): readonly Problem[] {
  const id = spiffeIdOf(leaf);
  if (!id.ok) return id.problems;
  const wanted = { ...expected, trustDomain: expected.trustDomain ?? id.value.trustDomain };
  if (formatSpiffeId(id.value) === formatSpiffeId(wanted)) return [];
  return [{ path: '', message: `the certificate names ${formatSpiffeId(id.value)}, not ${formatSpiffeId(wanted)}` }];
}
