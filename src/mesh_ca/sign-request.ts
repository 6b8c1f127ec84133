/** One signing request, from the credential to the signed certificate, and what the log keeps of it. */

import type { CallContext } from '../io/grpc/types.ts';
import type { TokenVerifier } from '../io/jwks/verify-token.ts';
import type { Logger } from '../io/log/logger.ts';
import { parseCsr } from '../io/x509/csr-parse.ts';
import type { Duration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import { type Authority, issue } from './authority.ts';
import { authenticate, type Caller } from './caller.ts';
import type { LiveAuthority } from './live-authority.ts';
import type { Settings } from './settings.ts';
import { type SigningLimits, templateFor } from './signing-policy.ts';

export interface SigningOptions {
  readonly authority: LiveAuthority;
  readonly settings: Pick<Settings, 'trustDomain' | 'issuers'>;
  readonly limits: SigningLimits;
  readonly verifyToken: TokenVerifier;
  readonly now: () => Date;
  readonly newSerial: () => Uint8Array;
  readonly logger: Logger;
}

export interface Signed {
  /** PEM of the certificate alone. */
  readonly leafPem: string;
  /** Who signed it: the rest of the chain is its, whatever is in force by now. */
  readonly authority: Authority;
}

/**
 * Signs a request for whoever the call's credential names. Rejects with a MeshError; every refusal is logged with the identity, or
 * the address where there is none.
 */
export async function signRequest(
  options: SigningOptions,
  csrPem: string,
  ttl: Duration | undefined,
  context: CallContext,
): Promise<Signed> {
  const { logger } = options;
  const authority = options.authority.current();
  const now = options.now();
  const caller = await authenticated(options, authority, context, now);
  const identity = formatSpiffeId(caller.identity);
  try {
    const csr = parseCsr(csrPem);
    if (!csr.ok) throw new MeshError('invalid', csr.problems.map(({ message }) => message).join('; '));
    const request = { caller: caller.identity, csr: csr.value, ttl };
    const template = templateFor(request, options.limits, authority, now, options.newSerial());
    const { pem, serial, notAfter } = await issue(authority, template, now);
    const pod = caller.pod === undefined ? {} : { pod: caller.pod };
    const kind = template.use.type === 'ca' ? { kind: 'certificate authority' } : {};
    const fields = { identity, serial, expires: notAfter.toISOString(), credential: caller.credential, ...pod, ...kind };
    logger.info('certificate issued', { ...fields, peer: context.peer.address });
    return { leafPem: pem, authority };
  } catch (thrown) {
    const error = MeshError.from(thrown);
    logger.warn('certificate refused', { identity, peer: context.peer.address, code: error.code, reason: error.message });
    throw error;
  }
}

async function authenticated(
  { authority: live, settings, verifyToken, logger }: SigningOptions,
  authority: Authority,
  context: CallContext,
  now: Date,
): Promise<Caller> {
  const formerIntermediates = live.formerIntermediates();
  const trust = { authority, formerIntermediates, trustDomain: settings.trustDomain(), issuers: settings.issuers() };
  try {
    return await authenticate(context, trust, verifyToken, now);
  } catch (thrown) {
    const error = MeshError.from(thrown);
    logger.warn('a caller could not be authenticated', { peer: context.peer.address, reason: error.message });
    throw error;
  }
}
