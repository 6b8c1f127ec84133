/** Who says whose a token is: the issuers that are trusted here, and on Kubernetes the API server for all others. */
import jwt from 'jsonwebtoken';
import type { TokenVerifier, TrustedIssuer } from '../io/jwks/verify-token.ts';
import { MeshError } from '../lib/errors.ts';
import type { Redacted } from '../lib/redacted.ts';
import type { TokenReviewer } from './token-review.ts';

/**
 * A token that names a trusted issuer stands or falls with that issuer's keys; the API server is not asked about it. Without an API
 * server, `review` is undefined.
 */
export function verifyOrReview(verify: TokenVerifier, review: TokenReviewer | undefined): TokenVerifier {
  return async (token, issuers, now) => {
    if (review !== undefined && !isOfAny(issuers, token)) return review(token, now);
    if (issuers.length > 0) return verify(token, issuers, now);
    throw new MeshError('unauthenticated', 'no token issuers are trusted here: the ConfigMap mesh-token-issuers names none');
  };
}

/** By what the token says of itself, of which nothing is proven. */
function isOfAny(issuers: readonly TrustedIssuer[], token: Redacted): boolean {
  if (issuers.length === 0) return false;
  const claimed = claimedIssuer(token);
  return issuers.some(({ issuer }) => issuer === claimed);
}

function claimedIssuer(token: Redacted): unknown {
  try {
    const payload = jwt.decode(token.reveal());
    return typeof payload === 'object' ? payload?.iss : undefined;
  } catch {
    return undefined;
  }
}
