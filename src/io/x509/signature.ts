/** Signatures over DER: the algorithm follows from the key. */
import { type KeyObject, sign, verify } from 'node:crypto';
import { MeshError } from '../../lib/errors.ts';
import { type Der, nothing, objectIdentifier, sequence } from './der.ts';
import { OID } from './oids.ts';

interface SignatureAlgorithm {
  readonly hash: 'sha256' | 'sha384' | 'sha512';
  readonly keyType: 'rsa' | 'ec';
}

/** What we accept; SHA-1 and older are missing on purpose. */
const ALGORITHMS: ReadonlyMap<string, SignatureAlgorithm> = new Map([
  [OID.sha256WithRsa, { hash: 'sha256', keyType: 'rsa' }],
  [OID.sha384WithRsa, { hash: 'sha384', keyType: 'rsa' }],
  [OID.sha512WithRsa, { hash: 'sha512', keyType: 'rsa' }],
  [OID.ecdsaWithSha256, { hash: 'sha256', keyType: 'ec' }],
  [OID.ecdsaWithSha384, { hash: 'sha384', keyType: 'ec' }],
  [OID.ecdsaWithSha512, { hash: 'sha512', keyType: 'ec' }],
]);

/** AlgorithmIdentifiers (RFC 4055 wants NULL parameters for RSA, RFC 5758 none for ECDSA). */
const RSA_SHA256 = sequence(objectIdentifier(OID.sha256WithRsa), nothing);
const ECDSA_SHA256 = sequence(objectIdentifier(OID.ecdsaWithSha256));
const ECDSA_SHA384 = sequence(objectIdentifier(OID.ecdsaWithSha384));

interface Signing {
  readonly identifier: Der;
  readonly hash: string;
}

/** Asking a key for its details takes longer than the rest of an encoding. */
const signings = new WeakMap<KeyObject, Signing>();

/** How a key signs: its AlgorithmIdentifier and the hash. */
export function signingAlgorithm(key: KeyObject): Signing {
  const known = signings.get(key);
  if (known !== undefined) return known;
  const signing = findSigning(key);
  signings.set(key, signing);
  return signing;
}

function findSigning(key: KeyObject): Signing {
  if (key.asymmetricKeyType === 'rsa') return { identifier: RSA_SHA256, hash: 'sha256' };
  if (key.asymmetricKeyType === 'ec') {
    return key.asymmetricKeyDetails?.namedCurve === 'secp384r1'
      ? { identifier: ECDSA_SHA384, hash: 'sha384' }
      : { identifier: ECDSA_SHA256, hash: 'sha256' };
  }
  throw new MeshError('invalid', `a key of type ${key.asymmetricKeyType} cannot sign certificates: use ECDSA or RSA`);
}

/**
 * Signs with RSA on a worker thread of libuv, for a key of 4096 bits would hold up the event loop; with ECDSA at once, as the
 * way to another thread takes longer than the signature.
 */
export async function signDer(hash: string, data: Uint8Array, key: KeyObject): Promise<Uint8Array> {
  if (key.asymmetricKeyType === 'ec') return sign(hash, data, key);
  return new Promise((resolve, reject) => {
    sign(hash, data, key, (error, signature) => {
      if (error === null) resolve(signature);
      else reject(new MeshError('internal', `signing failed: ${error.message}`, error));
    });
  });
}

/** Whether a signature of the algorithm with this object identifier is the key's over the data; `unknown` for an algorithm we do not take. */
export function verifyDer(oid: string, data: Uint8Array, signature: Uint8Array, key: KeyObject): 'valid' | 'invalid' | 'unknown' {
  const algorithm = ALGORITHMS.get(oid);
  if (algorithm === undefined) return 'unknown';
  if (algorithm.keyType !== key.asymmetricKeyType) return 'invalid';
  return verify(algorithm.hash, data, key, signature) ? 'valid' : 'invalid';
}
