/** Remembers tokens that were verified, so that a caller who comes again with the same one costs a look-up and no signature's check. */
import { hash } from 'node:crypto';
import { CLOCK_SKEW_SECONDS, type TokenVerifier, type TrustedIssuer, type VerifiedToken } from './verify-token.ts';

/** Claims of a Kubernetes token take 1 to 2 KiB. */
const MAX_TOKENS = 4_096;

/**
 * A verifier that asks `verify` once for each token and whatever is trusted at the time. Any change of the trusted issuers (one that
 * goes, other keys, other audiences) forgets everything; the time is looked at with every call; only success is remembered.
 */
export function rememberVerified(verify: TokenVerifier, maxTokens = MAX_TOKENS): TokenVerifier {
  /** By SHA-256: a copy of the memory holds no credentials. Half of them each: a Map is slow to find its oldest entry. */
  let newer = new Map<string, VerifiedToken>();
  let older = new Map<string, VerifiedToken>();
  let trusted: readonly TrustedIssuer[] = [];

  return async (token, issuers, now) => {
    if (!sameIssuers(trusted, issuers)) {
      newer = new Map();
      older = new Map();
      trusted = issuers;
    }
    const key = hash('sha256', token.reveal(), 'base64');
    const known = newer.get(key) ?? older.get(key);
    if (known !== undefined && isInForce(known, now)) return known;
    const found = await verify(token, issuers, now);
    // What was trusted may have changed while it was verified.
    if (trusted === issuers || sameIssuers(trusted, issuers)) {
      if (newer.size >= maxTokens / 2) {
        older = newer;
        newer = new Map();
      }
      newer.set(key, found);
    }
    return found;
  };
}

function isInForce({ claims }: VerifiedToken, now: Date): boolean {
  const seconds = Math.floor(now.getTime() / 1000);
  const { exp, nbf } = claims;
  const hasBegun = nbf === undefined || (typeof nbf === 'number' && nbf <= seconds + CLOCK_SKEW_SECONDS);
  return hasBegun && typeof exp === 'number' && seconds < exp + CLOCK_SKEW_SECONDS;
}

function sameIssuers(left: readonly TrustedIssuer[], right: readonly TrustedIssuer[]): boolean {
  return left.length === right.length && left.every((issuer, index) => sameIssuer(issuer, right[index]));
}

function sameIssuer(left: TrustedIssuer, right: TrustedIssuer | undefined): boolean {
  if (left.issuer !== right?.issuer || left.jwks !== right.jwks || left.audiences.length !== right.audiences.length) return false;
  return left.audiences.every((audience, index) => audience === right.audiences[index]);
}
