/** Key pairs: which ones the mesh makes, and which ones it accepts from others. */
import { generateKeyPair as generate, hash, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { Problem } from '../../lib/errors.ts';
import { Redacted } from '../../lib/redacted.ts';

export type KeyType = 'ec-p256' | 'rsa-2048' | 'rsa-3072' | 'rsa-4096';

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const generateAsync = promisify(generate);

/** Curves that both Envoy's TLS library and ours support, by OpenSSL's names. */
const CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1']);
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;
/** A huge exponent makes every verification slow. */
const MAX_RSA_EXPONENT = 2n ** 32n;

/** Makes a key pair on a worker thread of libuv, never on the event loop. */
export function generateKeyPair(type: KeyType): Promise<KeyPair> {
  switch (type) {
    case 'ec-p256':
      return generateAsync('ec', { namedCurve: 'prime256v1' });
    case 'rsa-2048':
      return generateAsync('rsa', { modulusLength: 2048 });
    case 'rsa-3072':
      return generateAsync('rsa', { modulusLength: 3072 });
    case 'rsa-4096':
      return generateAsync('rsa', { modulusLength: 4096 });
  }
}

/** The private key as PKCS#8 PEM. */
export function privateKeyPem(key: KeyObject): Redacted {
  return new Redacted(key.export({ type: 'pkcs8', format: 'pem' }).toString());
}

/** Exporting a key costs more than signing with it, and one request needs the same encoding several times. */
const encodings = new WeakMap<KeyObject, Uint8Array>();

/** The public key as DER SubjectPublicKeyInfo, encoded anew, so that odd encodings of others are not passed on. */
export function publicKeyDer(key: KeyObject): Uint8Array {
  const known = encodings.get(key);
  if (known !== undefined) return known;
  const der = key.export({ type: 'spki', format: 'der' });
  encodings.set(key, der);
  return der;
}

/** Says what publicKeyDer would find out: the encoding of a key that was read from just that, in its only form. */
export function rememberPublicKeyDer(key: KeyObject, der: Uint8Array): void {
  encodings.set(key, der);
}

/** A key identifier: the leftmost 160 bits of SHA-256 over the SubjectPublicKeyInfo (RFC 7093, 2.4, shortened as in 2.1). */
export function keyIdOf(spki: Uint8Array): Uint8Array {
  return hash('sha256', spki, 'buffer').subarray(0, 20);
}

/** What keeps a public key from being accepted: RSA of 2048 to 8192 bits, P-256 and P-384 are. */
export function publicKeyProblems(key: KeyObject): readonly Problem[] {
  const problem = (message: string): readonly Problem[] => [{ path: 'publicKey', message }];
  const details = key.asymmetricKeyDetails;
  if (key.asymmetricKeyType === 'ec') {
    const curve = details?.namedCurve ?? 'without a name';
    return CURVES.has(curve) ? [] : problem(`the curve ${curve} is not supported: use P-256 or P-384`);
  }
  if (key.asymmetricKeyType !== 'rsa') {
    return problem(`keys of type ${key.asymmetricKeyType} are not supported: use ECDSA P-256 or RSA`);
  }
  return rsaProblems(details?.modulusLength ?? 0, details?.publicExponent ?? 0n);
}

/** The same for the numbers of an RSA key, before anything is computed with them. */
export function rsaProblems(bits: number, exponent: bigint): readonly Problem[] {
  const problem = (message: string): readonly Problem[] => [{ path: 'publicKey', message }];
  if (bits < MIN_RSA_BITS) return problem(`an RSA key of ${bits} bits is too weak: use at least ${MIN_RSA_BITS}`);
  if (bits > MAX_RSA_BITS) return problem(`an RSA key of ${bits} bits is too large: use at most ${MAX_RSA_BITS}`);
  if (exponent < 3n || exponent > MAX_RSA_EXPONENT || exponent % 2n === 0n) {
    return problem('the public exponent of the RSA key is out of range: use 65537');
  }
  return [];
}
