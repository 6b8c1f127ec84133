/** Reads a SubjectPublicKeyInfo (RFC 5280, 4.1.2.7) of a stranger, with the checks that cost little before those that cost more. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Parsed } from '../../lib/errors.ts';
import { objectIdentifier } from './der.ts';
import { DerError, DerReader, READ_TAG, sameBytes } from './der-read.ts';
import { publicKeyProblems, rememberPublicKeyDer, rsaProblems } from './key.ts';
import { encodePem } from './pem.ts';

const RSA = objectIdentifier('1.2.840.113549.1.1.1');
const EC = objectIdentifier('1.2.840.10045.2.1');
/** Named curves that are accepted, with the length of an uncompressed point. */
const CURVES = [
  { identifier: objectIdentifier('1.2.840.10045.3.1.7'), pointLength: 65 },
  { identifier: objectIdentifier('1.3.132.0.34'), pointLength: 97 },
];
const UNCOMPRESSED = 4;

/** The key, if it is one that the mesh accepts: see publicKeyProblems. */
export function readPublicKey(spki: Uint8Array): Parsed<KeyObject> {
  const form = formOf(spki);
  if (form.type === 'rsa') {
    const problems = rsaProblems(form.bits, form.exponent);
    if (problems.length > 0) return { ok: false, problems };
  }
  const key = imported(spki);
  if (key === undefined) return unreadable();
  if (form.type === 'other') {
    // Another key type, curve or encoding: Node knows what it is, and encodes it anew where it is accepted.
    const problems = publicKeyProblems(key);
    return problems.length > 0 ? { ok: false, problems } : { ok: true, value: key };
  }
  rememberPublicKeyDer(key, Uint8Array.from(spki));
  return { ok: true, value: key };
}

function unreadable(): Parsed<never> {
  return { ok: false, problems: [{ path: 'csr', message: 'the public key of the certificate signing request cannot be read' }] };
}

type Form =
  | { readonly type: 'ec' }
  | { readonly type: 'rsa'; readonly bits: number; readonly exponent: bigint }
  | { readonly type: 'other' };

/** Whether the encoding is the only one that there is for its key, so that it can be used as it came. */
function formOf(spki: Uint8Array): Form {
  try {
    const outer = new DerReader(spki);
    const info = outer.enter(READ_TAG.sequence);
    outer.finish();
    const algorithm = info.enter(READ_TAG.sequence);
    const key = info.wholeBytes();
    info.finish();
    const identifier = algorithm.element(READ_TAG.objectIdentifier);
    if (sameBytes(identifier, EC)) return ecForm(algorithm, key);
    if (sameBytes(identifier, RSA)) return rsaForm(algorithm, key);
    return { type: 'other' };
  } catch (error) {
    if (error instanceof DerError) return { type: 'other' };
    throw error;
  }
}

function ecForm(algorithm: DerReader, point: Uint8Array): Form {
  const name = algorithm.element(READ_TAG.objectIdentifier);
  algorithm.finish();
  const curve = CURVES.find(({ identifier }) => sameBytes(identifier, name));
  return curve !== undefined && point.length === curve.pointLength && point[0] === UNCOMPRESSED
    ? { type: 'ec' }
    : { type: 'other' };
}

function rsaForm(algorithm: DerReader, key: Uint8Array): Form {
  if (algorithm.content(READ_TAG.nothing).length > 0) throw new DerError('NULL has no content');
  algorithm.finish();
  const outer = new DerReader(key);
  const numbers = outer.enter(READ_TAG.sequence);
  outer.finish();
  const modulus = numbers.unsignedInteger();
  const exponent = numbers.unsignedInteger();
  numbers.finish();
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  return { type: 'rsa', bits, exponent: BigInt(`0x${Buffer.from(exponent.subarray(0, 16)).toString('hex')}`) };
}

function imported(spki: Uint8Array): KeyObject | undefined {
  try {
    // As text, for Node looks at bytes in so many ways first that it takes twice as long.
    return createPublicKey(encodePem('PUBLIC KEY', spki));
  } catch {
    return undefined;
  }
}
