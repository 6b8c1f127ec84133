/** JSON Web Key Sets (RFC 7517): of what others publish, the public signature keys alone. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Parsed } from '../../lib/errors.ts';

/** Enough for any issuer; each key costs a proxy time and memory. */
const MAX_KEYS = 100;
const MIN_RSA_BITS = 2048;

/** What of a key is kept. Members of private keys, certificates and whatever else comes along are not. */
const MEMBERS = ['kty', 'kid', 'use', 'key_ops', 'alg', 'n', 'e', 'crv', 'x', 'y'] as const;
const KEY_TYPES: ReadonlySet<unknown> = new Set(['RSA', 'EC', 'OKP']);

/**
 * Checks a key set and gives it back as JSON text, reduced to public keys that verify signatures. A set without a single
 * one of these is a problem; further keys of a kind we do not know are dropped, as RFC 7517, section 5 wants.
 */
export function parseJwkSet(text: string): Parsed<string> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return bad('', 'the document is not JSON');
  }
  const keys = isRecord(document) ? document['keys'] : undefined;
  if (!Array.isArray(keys)) return bad('keys', 'a JSON Web Key Set has a list "keys"');
  if (keys.length > MAX_KEYS) return bad('keys', `${keys.length} keys are too many; at most ${MAX_KEYS} are accepted`);
  const usable = keys.filter(isRecord).map(publicPart).filter(isUsable);
  if (usable.length === 0) return bad('keys', 'there is no public key for signatures (RSA of 2048 bits or more, EC, or Ed25519)');
  return { ok: true, value: JSON.stringify({ keys: usable }) };
}

function publicPart(key: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(MEMBERS.filter((member) => key[member] !== undefined).map((member) => [member, key[member]]));
}

function isUsable(key: Readonly<Record<string, unknown>>): boolean {
  if (!KEY_TYPES.has(key['kty'])) return false;
  if (key['use'] !== undefined && key['use'] !== 'sig') return false;
  const imported = importKey(key);
  if (imported === undefined) return false;
  return imported.asymmetricKeyType !== 'rsa' || (imported.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS;
}

function importKey(key: Readonly<Record<string, unknown>>): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...key }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function bad(path: string, message: string): Parsed<never> {
  return { ok: false, problems: [{ path, message }] };
}
