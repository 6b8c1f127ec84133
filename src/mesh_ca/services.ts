/** The gRPC services of the certificate authority. */

import { IstioCertificateRequest, IstioCertificateResponse } from '#gen/istio/v1/auth/ca.ts';
import { CsrRequest, CsrResponse } from '#gen/istio/v1/auth/ca_service.ts';
import { type CallContext, type Method, unary } from '../io/grpc/types.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { intermediatePems, issuingRootPem } from './authority.ts';
import { type SigningOptions, signRequest } from './sign-request.ts';

/** Requests that are being signed at once; further ones are told to come again. */
const MAX_IN_FLIGHT = 2048;

/** `istio.v1.auth.IstioCertificateService` and the older `istio.v1.auth.IstioCAService`. */
export function caMethods(options: SigningOptions): readonly Method[] {
  const sign = bounded(MAX_IN_FLIGHT, (csr: string, ttl: Duration | undefined, context: CallContext) =>
    signRequest(options, csr, ttl, context),
  );
  return [
    unary(
      '/istio.v1.auth.IstioCertificateService/CreateCertificate',
      IstioCertificateRequest,
      IstioCertificateResponse,
      async ({ csr, validityDuration }, context) => {
        const { leafPem, authority } = await sign(csr, ttlOf(validityDuration), context);
        return { certChain: [leafPem, ...intermediatePems(authority), issuingRootPem(authority)] };
      },
    ),
    unary(
      '/istio.v1.auth.IstioCAService/HandleCSR',
      CsrRequest,
      CsrResponse,
      async ({ csrPem, requestedTtlMinutes }, context) => {
        const { leafPem, authority } = await sign(
          Buffer.from(csrPem).toString('latin1'),
          ttlOf(requestedTtlMinutes * 60),
          context,
        );
        return {
          isApproved: true,
          status: { code: 0, message: 'OK', details: [] },
          signedCert: Buffer.from(leafPem),
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
