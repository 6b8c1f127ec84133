/** The gRPC services of the certificate authority. */

import { IstioCertificateRequest, IstioCertificateResponse } from '#gen/istio/v1/auth/ca.ts';
import { CsrRequest, CsrResponse } from '#gen/istio/v1/auth/ca_service.ts';
import { type CallContext, type Method, unary } from '../io/grpc/types.ts';
import type { TokenVerifier } from '../io/jwks/verify-token.ts';
import type { Logger } from '../io/log/logger.ts';
import { parseCsr } from '../io/x509/csr-parse.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import { type Authority, intermediatePems, issue, issuingRootPem } from './authority.ts';
import { authenticate } from './caller.ts';
import type { Settings } from './settings.ts';
import { type SigningLimits, workloadTemplate } from './signing-policy.ts';

export interface ServiceOptions {
  readonly authority: Authority;
  readonly settings: Pick<Settings, 'trustDomain' | 'issuers'>;
  readonly limits: SigningLimits;
  readonly verifyToken: TokenVerifier;
  readonly now: () => Date;
  readonly newSerial: () => Uint8Array;
  readonly logger: Logger;
}

/** Requests that are being signed at once; further ones are told to come again. */
const MAX_IN_FLIGHT = 512;

/** `istio.v1.auth.IstioCertificateService` and the older `istio.v1.auth.IstioCAService`. */
export function caMethods(options: ServiceOptions): readonly Method[] {
  const sign = bounded(MAX_IN_FLIGHT, (csr: string, ttl: Duration | undefined, context: CallContext) =>
    signFor(options, csr, ttl, context),
  );
  const { authority } = options;
  return [
    unary(
      '/istio.v1.auth.IstioCertificateService/CreateCertificate',
      IstioCertificateRequest,
      IstioCertificateResponse,
      async ({ csr, validityDuration }, context) => ({
        certChain: [await sign(csr, ttlOf(validityDuration), context), ...intermediatePems(authority), issuingRootPem(authority)],
      }),
    ),
    unary(
      '/istio.v1.auth.IstioCAService/HandleCSR',
      CsrRequest,
      CsrResponse,
      async ({ csrPem, requestedTtlMinutes }, context) => {
        const leaf = await sign(Buffer.from(csrPem).toString('latin1'), ttlOf(requestedTtlMinutes * 60), context);
        return {
          isApproved: true,
          status: { code: 0, message: 'OK', details: [] },
          signedCert: Buffer.from(leaf),
          certChain: Buffer.from(intermediatePems(authority).join('')),
        };
      },
    ),
  ];
}

/** 0 is what a request has that asks for no lifetime. */
function ttlOf(asked: number): Duration | undefined {
  return asked === 0 ? undefined : seconds(asked);
}

/** PEM of a certificate for the caller. */
async function signFor(
  options: ServiceOptions,
  csrPem: string,
  ttl: Duration | undefined,
  context: CallContext,
): Promise<string> {
  const { authority, settings, limits, logger } = options;
  const now = options.now();
  const trust = { authority, trustDomain: settings.trustDomain(), issuers: settings.issuers() };
  const caller = await authenticate(context, trust, options.verifyToken, now).catch((thrown: unknown) => {
    const error = MeshError.from(thrown);
    logger.warn('a caller could not be authenticated', { peer: context.peer.address, reason: error.message });
    throw error;
  });
  const identity = formatSpiffeId(caller.identity);
  try {
    const csr = parseCsr(csrPem);
    if (!csr.ok) throw new MeshError('invalid', csr.problems.map(({ message }) => message).join('; '));
    const template = workloadTemplate(
      { caller: caller.identity, csr: csr.value, ttl },
      limits,
      authority.validity,
      now,
      options.newSerial(),
    );
    const issued = await issue(authority, template, now);
    const { serialNumber, validToDate } = issued.certificate;
    const fields = { identity, serial: serialNumber, expires: validToDate.toISOString(), credential: caller.credential };
    logger.info('certificate issued', { ...fields, peer: context.peer.address });
    return issued.pem;
  } catch (thrown) {
    const error = MeshError.from(thrown);
    logger.warn('certificate refused', { identity, peer: context.peer.address, code: error.code, reason: error.message });
    throw error;
  }
}

/** Runs at most so many at once. */
function bounded<Args extends readonly unknown[], Result>(
  limit: number,
  run: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let running = 0;
  return async (...args) => {
    if (running >= limit) throw new MeshError('resource_exhausted', 'the certificate authority is busy, try again later');
    running += 1;
    try {
      return await run(...args);
    } finally {
      running -= 1;
    }
  };
}
