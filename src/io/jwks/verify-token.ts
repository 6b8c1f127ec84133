/** Verifies signed JSON Web Tokens (RFC 7519) of trusted issuers. */
import { KeyObject } from 'node:crypto';
import { createLocalJWKSet, type JSONWebKeySet, type JWTHeaderParameters, errors as joseErrors } from 'jose';
import jwt from 'jsonwebtoken';
import { MeshError } from '../../lib/errors.ts';
import type { Redacted } from '../../lib/redacted.ts';

export interface TrustedIssuer {
  readonly issuer: string;
  /** A token must be meant for one of these. */
  readonly audiences: readonly string[];
  /** A key set as JSON text (checked by parseJwkSet); undefined: not fetched yet. */
  readonly jwks: string | undefined;
}

export interface VerifiedToken {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Verifies tokens against the issuers that are trusted at that time. Rejects with `unauthenticated`, or `unavailable` while keys are missing. */
export type TokenVerifier = (token: Redacted, issuers: readonly TrustedIssuer[], now: Date) => Promise<VerifiedToken>;

/** Asymmetric signatures only: `none` proves nothing, and an HMAC could be made from the public key. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384'] as const satisfies readonly jwt.Algorithm[];
type Algorithm = (typeof ALGORITHMS)[number];

const MAX_LENGTH = 16 * 1024;
/** How far the clock of an issuer may be off. */
export const CLOCK_SKEW_SECONDS = 30;
/** Keys that are tried for a token without a key identifier. */
const MAX_CANDIDATES = 8;
const MAX_KEY_SETS = 1_000;

interface KeySet {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  /** Keys found, by what a token's header says; never more than there are in the set, as only finds are kept. */
  readonly found: Map<string, readonly KeyObject[]>;
}

export function createTokenVerifier(): TokenVerifier {
  // Imported keys are worth keeping; the texts change only when an issuer rotates.
  const keySets = new Map<string, KeySet>();

  function keySetOf(jwks: string): KeySet {
    const known = keySets.get(jwks);
    if (known !== undefined) return known;
    if (keySets.size >= MAX_KEY_SETS) keySets.clear();
    const made = { find: createLocalJWKSet(JSON.parse(jwks) as JSONWebKeySet), found: new Map() };
    keySets.set(jwks, made);
    return made;
  }

  return async (token, issuers, now) => {
    const text = token.reveal();
    const { header, algorithm, issuer } = readHeader(text);
    const trusted = issuers.filter((candidate) => candidate.issuer === issuer);
    if (trusted.length === 0) throw refused(`its issuer ${JSON.stringify(issuer)} is not trusted here`);
    const withKeys = trusted.flatMap(({ jwks, audiences }) => (jwks === undefined ? [] : [{ jwks, audiences }]));
    if (withKeys.length === 0) {
      throw new MeshError(
        'unavailable',
        `the keys of token issuer ${JSON.stringify(issuer)} could not be fetched yet, try again`,
      );
    }
    let failure: MeshError | undefined;
    for (const { jwks, audiences } of withKeys) {
      for (const key of await candidateKeys(keySetOf(jwks), header)) {
        const claims = checkClaims(text, key, { algorithm, issuer, audiences, now });
        if (!(claims instanceof MeshError)) return claims;
        failure = claims;
      }
    }
    throw failure ?? refused(`no key of issuer ${JSON.stringify(issuer)} fits it`);
  };
}

function refused(reason: string, cause?: unknown): MeshError {
  return new MeshError('unauthenticated', `the token is refused: ${reason}`, cause);
}

/** What the token says of itself, of which nothing is proven yet. */
function readHeader(text: string): {
  readonly header: JWTHeaderParameters;
  readonly algorithm: Algorithm;
  readonly issuer: string;
} {
  if (text.length > MAX_LENGTH) throw refused(`it is longer than ${MAX_LENGTH} characters`);
  const decoded = decode(text);
  if (decoded === null || typeof decoded.payload === 'string') throw refused('it is not a JSON Web Token');
  const { header, payload } = decoded;
  const algorithm = ALGORITHMS.find((accepted) => accepted === header.alg);
  if (algorithm === undefined) {
    throw refused(`its algorithm ${JSON.stringify(header.alg)} is not one of ${ALGORITHMS.join(', ')}`);
  }
  if (header.crit !== undefined) throw refused('it has critical extensions that are not known here');
  if (typeof payload.iss !== 'string' || payload.iss === '') throw refused('it names no issuer');
  return { header: { alg: algorithm, ...(header.kid === undefined ? {} : { kid: header.kid }) }, algorithm, issuer: payload.iss };
}

function decode(text: string): jwt.Jwt | null {
  try {
    return jwt.decode(text, { complete: true });
  } catch {
    return null;
  }
}

/** The keys that a token with this header may be signed with. */
async function candidateKeys({ find, found }: KeySet, header: JWTHeaderParameters): Promise<readonly KeyObject[]> {
  const wanted = JSON.stringify([header.alg, header.kid]);
  const known = found.get(wanted);
  if (known !== undefined) return known;
  const keys = await findKeys(find, header);
  if (keys.length > 0) found.set(wanted, keys);
  return keys;
}

async function findKeys(find: KeySet['find'], header: JWTHeaderParameters): Promise<readonly KeyObject[]> {
  try {
    return [KeyObject.from(await find(header))];
  } catch (error) {
    if (!(error instanceof joseErrors.JWKSMultipleMatchingKeys)) return [];
    const keys: KeyObject[] = [];
    for await (const key of error) {
      keys.push(KeyObject.from(key));
      if (keys.length === MAX_CANDIDATES) break;
    }
    return keys;
  }
}

interface Expected {
  readonly algorithm: Algorithm;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly now: Date;
}

function checkClaims(text: string, key: KeyObject, expected: Expected): VerifiedToken | MeshError {
  const [first, ...others] = expected.audiences;
  if (first === undefined) return refused('no audience is accepted from its issuer');
  try {
    const claims = jwt.verify(text, key, {
      algorithms: [expected.algorithm],
      issuer: expected.issuer,
      audience: [first, ...others],
      clockTolerance: CLOCK_SKEW_SECONDS,
      clockTimestamp: Math.floor(expected.now.getTime() / 1000),
    });
    if (typeof claims === 'string') return refused('its payload is not a JSON object');
    if (typeof claims.exp !== 'number') return refused('it never expires (there is no claim exp)');
    if (typeof claims.sub !== 'string' || claims.sub === '') return refused('it names no subject');
    return { issuer: expected.issuer, subject: claims.sub, claims };
  } catch (error) {
    return refused(reasonOf(error, expected), error);
  }
}

function reasonOf(error: unknown, expected: Expected): string {
  if (error instanceof jwt.TokenExpiredError) return `it expired at ${error.expiredAt.toISOString()}`;
  if (error instanceof jwt.NotBeforeError) return `it is not valid before ${error.date.toISOString()}`;
  const message = MeshError.from(error).message;
  if (message.includes('audience'))
    return `it is not meant for us: one of the audiences ${expected.audiences.join(', ')} is needed`;
  if (message.includes('signature')) return 'its signature is not valid';
  return message;
}
