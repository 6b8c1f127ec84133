/** Who calls: from a service account's token, or from the certificate that the caller has now. */
import type { X509Certificate } from 'node:crypto';
import type { CallContext } from '../io/grpc/types.ts';
import type { TokenVerifier, TrustedIssuer, VerifiedToken } from '../io/jwks/verify-token.ts';
import { checkChain, spiffeIdOf } from '../io/x509/chain.ts';
import { formatProblem, MeshError, type Parsed } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';
import { formatSpiffeId, isSpiffeId, type SpiffeId } from '../lib/spiffe.ts';
import type { Authority } from './authority.ts';

export interface Caller {
  readonly identity: SpiffeId;
  readonly credential: 'token' | 'certificate';
  /** The pod that the token is bound to, where it says so. */
  readonly pod?: string;
}

export interface Trust {
  readonly authority: Authority;
  /** Signing certificates of before, whose certificates are still good below a root that is still trusted. */
  readonly formerIntermediates: readonly X509Certificate[];
  readonly trustDomain: string;
  readonly issuers: readonly TrustedIssuer[];
}

const BEARER = /^bearer +(\S+)$/i;
/** A DNS-1123 subdomain. */
const POD = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/**
 * The caller of a gRPC call. A token, where one is given, decides alone; a bad one is never made up for by a certificate.
 * Rejects with `unauthenticated`, or `unavailable` while the keys of its issuer are missing.
 */
export async function authenticate(context: CallContext, trust: Trust, verify: TokenVerifier, now: Date): Promise<Caller> {
  const authorization = context.metadata.get('authorization');
  if (authorization !== undefined) {
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined) throw denied('the metadata authorization is not of the form "Bearer <token>"');
    return identityOfToken(await verify(new Redacted(token), trust.issuers, now), trust.trustDomain);
  }
  const certificate = context.peer.certificate;
  if (certificate !== undefined) return identityOfCertificate(certificate, trust, now);
  throw denied('a credential is needed: a service account token in the metadata authorization, or the current certificate');
}

function identityOfToken(token: VerifiedToken, trustDomain: string): Caller {
  const match = SUBJECT.exec(token.subject);
  const identity = { trustDomain, namespace: match?.[1] ?? '', serviceAccount: match?.[2] ?? '' };
  if (match === null || !isSpiffeId(identity)) {
    throw denied(`the token is refused: its subject ${JSON.stringify(token.subject)} is no service account`);
  }
  const claimed = claimedAccount(token.claims);
  if (!claimed.ok) throw denied(`the token is refused: ${claimed.problems.map(formatProblem).join('; ')}`);
  for (const part of ['namespace', 'serviceAccount'] as const) {
    const value = claimed.value[part];
    if (value !== undefined && value !== identity[part]) {
      throw denied(`the token is refused: its claim kubernetes.io speaks of another account than its subject ${token.subject}`);
    }
  }
  const { pod } = claimed.value;
  return { identity, credential: 'token', ...(pod === undefined ? {} : { pod }) };
}

/** What Kubernetes adds to a token; absent in those of other issuers. */
function claimedAccount(
  claims: Readonly<Record<string, unknown>>,
): Parsed<{ readonly namespace?: unknown; readonly serviceAccount?: unknown; readonly pod?: string }> {
  const claim = claims['kubernetes.io'];
  if (claim === undefined) return { ok: true, value: {} };
  if (!isRecord(claim)) return { ok: false, problems: [{ path: '', message: 'its claim kubernetes.io is not an object' }] };
  const { serviceaccount: account, pod, namespace } = claim;
  const name = isRecord(pod) ? pod['name'] : undefined;
  return {
    ok: true,
    value: {
      namespace,
      ...(isRecord(account) ? { serviceAccount: account['name'] } : {}),
      ...(typeof name === 'string' && POD.test(name) ? { pod: name } : {}),
    },
  };
}

/** The TLS layer checked the chain when the connection was made; here it counts whether it holds now. */
function identityOfCertificate(
  certificate: X509Certificate,
  { authority, formerIntermediates, trustDomain }: Trust,
  now: Date,
): Caller {
  const { intermediates, roots } = authority;
  if (certificate.ca) throw denied('the client certificate is refused: it is of a certificate authority, and names no workload');
  const issuers = [...intermediates, ...formerIntermediates];
  const problems = checkChain({ leaf: certificate, intermediates: issuers, roots }, now);
  if (problems.length > 0) throw denied(`the client certificate is refused: ${problems.map(formatProblem).join('; ')}`);
  const identity = spiffeIdOf(certificate);
  if (!identity.ok) throw denied(`the client certificate is refused: ${identity.problems.map(formatProblem).join('; ')}`);
  if (identity.value.trustDomain !== trustDomain) {
    throw denied(
      `the client certificate is refused: ${formatSpiffeId(identity.value)} is not of the trust domain ${trustDomain}`,
    );
  }
  return { identity: identity.value, credential: 'certificate' };
}

function denied(message: string): MeshError {
  return new MeshError('unauthenticated', message);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
