import type { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { IstioCertificateRequest, IstioCertificateResponse } from '#gen/istio/v1/auth/ca.ts';
import { unaryCall } from '../io/grpc/client.ts';
import { checkChain, parseCertificateChain, spiffeIdOf } from '../io/x509/chain.ts';
import { createCsr } from '../io/x509/csr.ts';
import { generateKeyPair, type KeyPair, privateKeyPem, publicKeyDer } from '../io/x509/key.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError, type Problem } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import { type ProxyConfig, printAddress, type WorkloadIdentity } from './config.ts';
import type { Identity } from './secrets.ts';

const CALL_DEADLINE: Duration = seconds(10);
/** A service account token has 1 or 2 kB. */
const MAX_TOKEN_BYTES = 64 * 1024;
const PATH = '/istio.v1.auth.IstioCertificateService/CreateCertificate';

/** Gets a certificate for a new key, verified against the roots. */
export type RequestIdentity = (rootsPem: string, signal: AbortSignal) => Promise<Identity>;

/**
 * Asks the certificate authority over TLS, with the service account token as bearer. Token file and key are new each time.
 * Rejects with a MeshError when the authority does not answer, refuses, or answers something that must not be used.
 */
export function identityRequester(config: ProxyConfig, now: () => Date): RequestIdentity {
  const address = printAddress(config.ca.address);
  return async (rootsPem, signal) => {
    const token = await readToken(config.ca.tokenFile);
    const pair = await generateKeyPair(config.ca.keyType);
    const csr = await createCsr({ ...pair, uriSans: requestedNames(config.identity) });
    const response = await unaryCall({
      address,
      path: PATH,
      request: IstioCertificateRequest.fromPartial({ csr: csr.pem }),
      requestCodec: IstioCertificateRequest,
      responseCodec: IstioCertificateResponse,
      metadata: { authorization: `Bearer ${token.reveal()}` },
      deadline: CALL_DEADLINE,
      tls: { rootPem: rootsPem },
      signal,
    });
    return acceptChain(response.certChain, pair, rootsPem, config.identity, now());
  };
}

/** The authority takes the name from the token; without a known trust domain there is nothing to ask for. */
function requestedNames({ trustDomain, ...rest }: WorkloadIdentity): readonly string[] {
  return trustDomain === undefined ? [] : [formatSpiffeId({ trustDomain, ...rest })];
}

async function readToken(file: string): Promise<Redacted> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new MeshError(
      'unauthenticated',
      `the token file ${file} (--tokenFile) cannot be read: ${MeshError.from(cause).message}`,
      cause,
    );
  });
  const token = text.trim();
  if (token === '' || token.length > MAX_TOKEN_BYTES || /[^\x21-\x7e]/.test(token)) {
    throw new MeshError('unauthenticated', `the token file ${file} (--tokenFile) holds no token`);
  }
  return new Redacted(token);
}

/**
 * Turns the authority's answer into an identity, if it is one for our key, names us, and leads to our roots.
 * @throws MeshError `failed_precondition` that tells everything that is wrong
 */
export function acceptChain(
  answer: readonly string[],
  pair: KeyPair,
  rootsPem: string,
  expected: WorkloadIdentity,
  now: Date,
): Identity {
  const chain = parseCertificateChain(answer.join('\n'));
  const roots = parseCertificateChain(rootsPem);
  if (!chain.ok) throw refusal(chain.problems);
  if (!roots.ok) throw refusal(roots.problems);
  const [leaf, ...others] = chain.value;
  if (leaf === undefined) throw refusal([{ path: '', message: 'it has no certificate' }]);
  const problems: Problem[] = [
    ...keyProblems(leaf, pair),
    ...nameProblems(leaf, expected),
    ...checkChain({ leaf, intermediates: others, roots: roots.value }, now),
  ];
  if (problems.length > 0) throw refusal(problems);
  const isRoot = (certificate: X509Certificate) => roots.value.some((root) => root.raw.equals(certificate.raw));
  return {
    keyPem: privateKeyPem(pair.privateKey),
    // Peers have the roots of their own; sending ours only makes handshakes longer.
    chainPem: [leaf, ...others.filter((certificate) => !isRoot(certificate))]
      .map((certificate) => certificate.toString())
      .join(''),
    obtainedAt: now,
    notAfter: leaf.validToDate,
  };
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

function refusal(problems: readonly Problem[]): MeshError {
  const reasons = problems.map((problem) => problem.message).join('; ');
  return new MeshError('failed_precondition', `the answer of the certificate authority must not be used: ${reasons}`);
}
