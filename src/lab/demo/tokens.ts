/** The tokens that a call may carry: none, a good one, and every bad kind. */
export const TOKENS = ['none', 'valid', 'expired', 'issuer', 'signature', 'key', 'alg-none', 'garbage', 'audience'] as const;
export type Token = (typeof TOKENS)[number];
export type MintedToken = Exclude<Token, 'none'>;

/** What is wrong with each, for people. */
export const TOKEN_TITLES: Readonly<Record<Token, string>> = {
  none: 'no token',
  valid: 'valid token',
  expired: 'expired',
  issuer: 'wrong issuer',
  signature: 'bad signature',
  key: 'unknown key',
  'alg-none': 'alg none',
  garbage: 'garbage',
  audience: 'wrong audience',
};

/** The audience that the policies of examples/reference ask for. */
const AUDIENCE = 'aud=httpbin';

/** How each is asked for at the token issuer of examples/reference: the query of GET /token. */
export const TOKEN_QUERIES: Readonly<Record<MintedToken, string>> = {
  valid: AUDIENCE,
  expired: `${AUDIENCE}&variant=expired`,
  issuer: `${AUDIENCE}&iss=http://elsewhere.example`,
  signature: `${AUDIENCE}&variant=bad-signature`,
  key: `${AUDIENCE}&variant=unknown-key`,
  'alg-none': `${AUDIENCE}&variant=alg-none`,
  garbage: `${AUDIENCE}&variant=garbage`,
  audience: 'aud=somebody-else',
};
