import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { MeshError } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import type { KubeObject } from '../model/object.ts';
import { isRecord } from './kubelet/fields.ts';
import type { TokenClaims } from './kubelet/token.ts';

/** Audience of the tokens that the certificate authority takes. */
export const CA_AUDIENCE = 'mesh-ca';
const ALGORITHM = 'ES256';

/** Signs service account tokens, as the API server does in Kubernetes. */
export interface TokenIssuer {
  readonly issuer: string;
  sign(claims: TokenClaims): Promise<string>;
  /** The ConfigMap by which the certificate authority comes to trust the issuer. */
  readonly trust: KubeObject;
}

/** Reads the lab's signing key, or makes one and keeps it with mode 0600. Throws `invalid` for a key file that is not one. */
export async function openTokenIssuer(path: string, names: Names, namespace: string): Promise<TokenIssuer> {
  const issuer = `https://lab.${names.domain}`;
  const jwk = await readKey(path).catch((error: unknown) => {
    if (isRecord(error) && error['code'] === 'ENOENT') return makeKey(path);
    throw error;
  });
  const { key, publicJwk } = await importKey(jwk, path);
  const kid = await calculateJwkThumbprint(publicJwk);
  const jwks = { keys: [{ ...publicJwk, kid, alg: ALGORITHM, use: 'sig' }] };
  return {
    issuer,
    sign: (claims) =>
      new SignJWT({ ...claims, aud: [...claims.aud] }).setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' }).sign(key),
    trust: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'mesh-token-issuers', namespace },
      data: { lab: JSON.stringify({ issuer, audiences: [CA_AUDIENCE], jwks }) },
    },
  };
}

async function readKey(path: string): Promise<JsonWebKey> {
  const text = await readFile(path, 'utf8');
  try {
    return JSON.parse(text) as JsonWebKey;
  } catch (error) {
    throw badKey(path, error);
  }
}

async function makeKey(path: string): Promise<JsonWebKey> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const jwk = (await exportJWK(privateKey)) as JsonWebKey;
  await writeFile(path, JSON.stringify(jwk), { mode: 0o600 });
  return jwk;
}

async function importKey(jwk: JsonWebKey, path: string) {
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: jwk, format: 'jwk' });
  } catch (error) {
    throw badKey(path, error);
  }
  const { kty = '', crv = '', x = '', y = '' } = jwk;
  return { key, publicJwk: { kty, crv, x, y } };
}

function badKey(path: string, cause: unknown): MeshError {
  return new MeshError('invalid', `${path} is not a signing key (JWK); remove it and the lab makes a new one`, cause);
}
