import jsonwebtoken from 'jsonwebtoken';
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { SigningKey, SigningKeys } from './signing-keys.ts';

/** A good token, and every way in which one can be bad. */
export const TOKEN_VARIANTS = [
  'valid',
  'expired',
  'not-yet-valid',
  'bad-signature',
  'unknown-key',
  'alg-none',
  'garbage',
] as const;
export type TokenVariant = (typeof TOKEN_VARIANTS)[number];

export interface TokenRequest {
  readonly issuer: string;
  readonly subject: string;
  /** None: the token names no audience. */
  readonly audiences: readonly string[];
  readonly expiresIn: Duration;
  readonly variant: TokenVariant;
}

const HOUR = 3_600;

/** Mints a token (RFC 7519, RS256); `now` is its time of issue. */
export function mintToken(keys: SigningKeys, request: TokenRequest, now: Date): string {
  const issued = Math.floor(now.getTime() / 1_000);
  const expires = issued + Math.ceil(request.expiresIn / 1_000);
  switch (request.variant) {
    case 'valid':
      return sign(keys.published, claims(request, issued, expires));
    case 'expired':
      // Well past the clock skew that verifiers allow.
      return sign(keys.published, claims(request, issued - 2 * HOUR, issued - HOUR));
    case 'not-yet-valid':
      return sign(keys.published, { ...claims(request, issued, expires + HOUR), nbf: issued + HOUR });
    case 'bad-signature':
      return sign({ id: keys.published.id, key: keys.unknown.key }, claims(request, issued, expires));
    case 'unknown-key':
      return sign(keys.unknown, claims(request, issued, expires));
    case 'alg-none':
      return jsonwebtoken.sign(claims(request, issued, expires), '', { algorithm: 'none', keyid: keys.published.id });
    case 'garbage':
      return 'not.a.token';
  }
}

/** Throws MeshError `invalid` naming the variants. */
export function requireVariant(text: string): TokenVariant {
  const variant = TOKEN_VARIANTS.find((known) => known === text);
  if (variant === undefined)
    throw new MeshError('invalid', `the variant "${text}" is unknown; use one of ${TOKEN_VARIANTS.join(', ')}`);
  return variant;
}

function claims(request: TokenRequest, iat: number, exp: number): object {
  const { issuer: iss, subject: sub, audiences } = request;
  const aud = audiences.length === 1 ? audiences[0] : audiences;
  return { iss, sub, ...(audiences.length > 0 ? { aud } : {}), iat, exp };
}

function sign({ id, key }: SigningKey, payload: object): string {
  return jsonwebtoken.sign(payload, key, { algorithm: 'RS256', keyid: id });
}
