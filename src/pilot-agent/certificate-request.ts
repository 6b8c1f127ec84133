import { readFile } from 'node:fs/promises';
import { IstioCertificateRequest, IstioCertificateResponse } from '#gen/istio/v1/auth/ca.ts';
import { unaryCall } from '../io/grpc/client.ts';
import { createCsr } from '../io/x509/csr.ts';
import { generateKeyPair, type KeyPair } from '../io/x509/key.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import { printAddress } from './address.ts';
import type { CertificateSource } from './config.ts';
import { checkIdentity } from './identity-check.ts';
import type { WorkloadIdentity } from './pod.ts';
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
export function identityRequester(
  authority: Extract<CertificateSource, { readonly kind: 'authority' }>,
  expected: WorkloadIdentity,
  now: () => Date,
): RequestIdentity {
  const address = printAddress(authority.address);
  return async (rootsPem, signal) => {
    const token = await readToken(authority.tokenFile);
    const pair = await generateKeyPair(authority.keyType);
    const csr = await createCsr({ ...pair, uriSans: requestedNames(expected) });
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
    return acceptChain(response.certChain, pair, rootsPem, expected, now());
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
 * The authority's answer as an identity.
 * @throws MeshError `failed_precondition` that tells everything that is wrong
 */
export function acceptChain(
  answer: readonly string[],
  pair: KeyPair,
  rootsPem: string,
  expected: WorkloadIdentity,
  now: Date,
): Identity {
  const identity = checkIdentity(answer.join('\n'), pair, rootsPem, expected, now);
  if (identity.ok) return identity.value;
  const reasons = identity.problems.map((problem) => problem.message).join('; ');
  throw new MeshError('failed_precondition', `the answer of the certificate authority must not be used: ${reasons}`);
}
