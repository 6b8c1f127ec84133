import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { MeshError } from '../../lib/errors.ts';

/** The keys of a token issuer for tests: one that is published and one that nobody knows of. */
export interface SigningKeys {
  readonly published: SigningKey;
  readonly unknown: SigningKey;
}

export interface SigningKey {
  /** RFC 7517 `kid`. */
  readonly id: string;
  /** RSA, 2048 bits. */
  readonly key: KeyObject;
}

/** A fresh issuer. */
export function generateKeys(): SigningKeys {
  return { published: generateKey(), unknown: generateKey() };
}

/** The issuer kept in a file, which is made (mode 0600) when there is none. Throws MeshError `invalid` for a file that is something else. */
export async function loadKeys(path: string): Promise<SigningKeys> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new MeshError('unavailable', `cannot read the keys in ${path}: ${MeshError.from(error).message}`, error);
  });
  return text === undefined ? createKeyFile(path) : parseKeys(text, path);
}

/** A whole file appears at once, and of two processes that make one the first wins for both. */
async function createKeyFile(path: string): Promise<SigningKeys> {
  const keys = generateKeys();
  const temporary = `${path}.${randomUUID()}`;
  const jwks = [keys.published, keys.unknown].map(({ id, key }) => ({ kid: id, ...key.export({ format: 'jwk' }) }));
  try {
    await writeFile(temporary, JSON.stringify({ keys: jwks }), { mode: 0o600, flag: 'wx' });
    await link(temporary, path);
    return keys;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      return parseKeys(await readFile(path, 'utf8'), path);
    throw new MeshError('unavailable', `cannot write the keys to ${path}: ${MeshError.from(error).message}`, error);
  } finally {
    await rm(temporary, { force: true });
  }
}

function parseKeys(text: string, path: string): SigningKeys {
  try {
    const document: { readonly keys: readonly (JsonWebKey & { readonly kid: string })[] } = JSON.parse(text);
    const [published, unknown] = document.keys.map((jwk) => ({
      id: jwk.kid,
      key: createPrivateKey({ key: jwk, format: 'jwk' }),
    }));
    if (published !== undefined && unknown !== undefined) return { published, unknown };
  } catch (error) {
    throw new MeshError('invalid', `${path} is not a file of signing keys; remove it to have a new one made`, error);
  }
  throw new MeshError('invalid', `${path} lacks a signing key; remove it to have a new one made`);
}

/** The key set (RFC 7517) that verifies tokens of the published key. */
export function publicKeySet(keys: SigningKeys): { readonly keys: readonly JsonWebKey[] } {
  const jwk = createPublicKey(keys.published.key).export({ format: 'jwk' });
  return { keys: [{ kid: keys.published.id, use: 'sig', alg: 'RS256', ...jwk }] };
}

function generateKey(): SigningKey {
  return { id: randomUUID(), key: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey };
}
