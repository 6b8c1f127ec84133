/** What the authority signs, and for whom. Pure: who the caller is was verified before. */

import type { Csr } from '../io/x509/csr-parse.ts';
import { type CertificateTemplate, type Validity, validityFrom } from '../io/x509/template.ts';
import { type Duration, formatDuration, milliseconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { formatSpiffeId, type SpiffeId } from '../lib/spiffe.ts';

export interface SigningRequest {
  /** From the verified credential, never from the request. */
  readonly caller: SpiffeId;
  readonly csr: Csr;
  /** Undefined: the caller leaves it to us. */
  readonly ttl: Duration | undefined;
}

export interface SigningLimits {
  readonly defaultTtl: Duration;
  readonly maxTtl: Duration;
  /** Organization of the subject; empty: no subject. */
  readonly organization: string;
}

/**
 * The template of a workload's certificate. Throws `permission_denied` for a request that asks for more than the caller's
 * own name, `invalid` for a lifetime that is none.
 */
export function workloadTemplate(
  request: SigningRequest,
  limits: SigningLimits,
  issuer: Validity,
  now: Date,
  serial: Uint8Array,
): CertificateTemplate {
  const identity = formatSpiffeId(request.caller);
  requireOwnName(request.csr, identity);
  return {
    subject: { organization: limits.organization },
    names: [{ type: 'uri', value: identity }],
    publicKey: request.csr.publicKey,
    serial,
    ...validityFrom(now, grantedTtl(request.ttl, limits), issuer),
    use: { type: 'tls', server: true, client: true },
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
  if (csr.asksForCa) throw new MeshError('permission_denied', `${identity} may not become a certificate authority`);
}

function grantedTtl(asked: Duration | undefined, limits: SigningLimits): Duration {
  if (asked !== undefined && !(asked > 0)) {
    throw new MeshError(
      'invalid',
      `a certificate cannot be valid for ${formatDuration(asked)}: ask for more than 0s, or for nothing`,
    );
  }
  return milliseconds(Math.min(asked ?? limits.defaultTtl, limits.maxTtl));
}
