/** What the authority signs, and for whom. Pure: who the caller is was verified before. */

import type { Csr } from '../io/x509/csr-parse.ts';
import { keyIdOf, publicKeyDer } from '../io/x509/key.ts';
import { type CertificateTemplate, type Validity, validityFrom } from '../io/x509/template.ts';
import { type Duration, formatDuration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { formatSpiffeId, type SpiffeId } from '../lib/spiffe.ts';

export interface SigningRequest {
  /** From the verified credential, never from the request. */
  readonly caller: SpiffeId;
  readonly csr: Csr;
  /** Undefined: the caller leaves it to us. */
  readonly ttl: Duration | undefined;
}

/** A service account of any trust domain that is ours. */
export type Account = Pick<SpiffeId, 'namespace' | 'serviceAccount'>;

export interface SigningLimits {
  readonly defaultTtl: Duration;
  readonly maxTtl: Duration;
  /** Organization of the subject; empty: no subject. */
  readonly organization: string;
  /** Who may have a certificate to sign others with; nobody without --sign-ca-certs. */
  readonly certificateAuthorities: readonly Account[];
}

/** The part of an authority that decides what it can sign. */
export interface SigningIssuer {
  readonly validity: Validity;
  readonly depthBelow: number;
}

/**
 * The template of what a caller gets. Throws `permission_denied` for a request that asks for more than the caller's own name or
 * rights, `invalid` for a lifetime that is none or too long, `failed_precondition` for what the authority itself may not sign.
 */
export function templateFor(
  request: SigningRequest,
  limits: SigningLimits,
  issuer: SigningIssuer,
  now: Date,
  serial: Uint8Array,
): CertificateTemplate {
  const identity = formatSpiffeId(request.caller);
  requireOwnName(request.csr, identity);
  requireLifetime(request.ttl);
  return request.csr.asksForCa
    ? authorityTemplate(request, limits, issuer, now, serial)
    : workloadTemplate(request, limits, issuer.validity, now, serial);
}

function workloadTemplate(
  { caller, csr, ttl }: SigningRequest,
  limits: SigningLimits,
  issuer: Validity,
  now: Date,
  serial: Uint8Array,
): CertificateTemplate {
  if (ttl !== undefined && ttl > limits.maxTtl) {
    throw new MeshError(
      'invalid',
      `a certificate for ${formatDuration(ttl)} is more than the ${formatDuration(limits.maxTtl)} that are granted at most here`,
    );
  }
  return {
    subject: { organization: limits.organization },
    names: [{ type: 'uri', value: formatSpiffeId(caller) }],
    publicKey: csr.publicKey,
    serial,
    ...validityFrom(now, ttl ?? limits.defaultTtl, issuer),
    use: { type: 'tls', server: true, client: true },
  };
}

/**
 * A signing certificate for another authority of the same trust domain: it may sign workloads' certificates with names of that
 * domain, and no further authorities. It names the trust domain alone, so that it can never pass for a workload's (X.509-SVID, 3).
 */
function authorityTemplate(
  { caller, csr, ttl }: SigningRequest,
  limits: SigningLimits,
  issuer: SigningIssuer,
  now: Date,
  serial: Uint8Array,
): CertificateTemplate {
  const isAllowed = limits.certificateAuthorities.some(
    ({ namespace, serviceAccount }) => namespace === caller.namespace && serviceAccount === caller.serviceAccount,
  );
  if (!isAllowed) throw new MeshError('permission_denied', `${formatSpiffeId(caller)} may not become a certificate authority`);
  if (issuer.depthBelow < 1) {
    throw new MeshError(
      'failed_precondition',
      'this certificate authority may have no other below it: the path length of its certificates forbids it',
    );
  }
  const keyId = Buffer.from(keyIdOf(publicKeyDer(csr.publicKey))).toString('hex');
  return {
    // Names differ with the key, so that nobody takes one authority of a chain for the one before it.
    subject: { organization: limits.organization || 'mesh', commonName: `intermediate ${keyId}` },
    names: [{ type: 'uri', value: `spiffe://${caller.trustDomain}` }],
    publicKey: csr.publicKey,
    serial,
    ...validityFrom(now, ttl ?? limits.maxTtl, issuer.validity),
    use: { type: 'ca', pathLength: 0, permittedUriHost: caller.trustDomain },
  };
}

/** The names that a request asks for must be the caller's or absent. */
function requireOwnName(csr: Csr, identity: string): void {
  const names = csr.names.map(({ type, value }) => ({
    what: `the ${type} name`,
    value,
    own: type === 'uri' && value === identity,
  }));
  const commonNames = csr.commonNames.map((value) => ({ what: 'the common name', value, own: value === identity }));
  const foreign = [...names, ...commonNames].find(({ own }) => !own);
  const denied = (wish: string): MeshError =>
    new MeshError('permission_denied', `${identity} may not have a certificate for ${wish}: ask for its own name or for none`);
  if (foreign !== undefined) throw denied(`${foreign.what} ${JSON.stringify(foreign.value.slice(0, 300))}`);
  if (csr.hasOtherNames) throw denied('a name of another kind than URI');
}

function requireLifetime(asked: Duration | undefined): void {
  if (asked === undefined || asked > 0) return;
  throw new MeshError(
    'invalid',
    `a certificate cannot be valid for ${formatDuration(asked)}: ask for more than 0s, or for nothing`,
  );
}
