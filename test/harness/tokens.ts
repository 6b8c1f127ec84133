/** Service account tokens for tests, and the key sets that verify them. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { NOW } from './certificates.ts';

export interface TokenKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly algorithm: 'RS256' | 'ES256';
}

export function tokenKey(kid: string, algorithm: TokenKey['algorithm'] = 'ES256'): TokenKey {
  const pair =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { kid, algorithm, ...pair };
}

export function jwkOf(key: TokenKey): Readonly<Record<string, unknown>> {
  return { ...key.publicKey.export({ format: 'jwk' }), kid: key.kid, use: 'sig', alg: key.algorithm };
}

export function jwksOf(...keys: readonly TokenKey[]): string {
  return JSON.stringify({ keys: keys.map(jwkOf) });
}

export const ISSUER = 'https://issuer.test';

/** The claims of httpbin's account in foo; a change to undefined leaves a claim out. */
export function claims(changes: Readonly<Record<string, unknown>> = {}, now: Date = NOW): Record<string, unknown> {
  const seconds = Math.floor(now.getTime() / 1000);
  const all = {
    iss: ISSUER,
    aud: ['mesh-ca'],
    sub: 'system:serviceaccount:foo:httpbin',
    iat: seconds,
    exp: seconds + 3600,
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function signToken(
  key: TokenKey,
  payload: Record<string, unknown> = claims(),
  header: Partial<jwt.JwtHeader> = {},
): string {
  return jwt.sign(payload, key.privateKey, { algorithm: key.algorithm, header: { alg: key.algorithm, kid: key.kid, ...header } });
}

/** A token with any header and signature. */
export function rawToken(header: object, payload: object, signature: string | Buffer = ''): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(payload)}.${Buffer.from(signature).toString('base64url')}`;
}
