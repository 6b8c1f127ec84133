/**
 * A key that verifies nothing: a point of P-256 whose x is SHA-256 of "mesh: nobody holds this key 1", so that nobody knows its
 * private half. Envoy rejects a whole listener for a key set without a usable key; with this one in it, every set is taken.
 */
const NOBODYS_KEY = {
  kty: 'EC',
  crv: 'P-256',
  alg: 'ES256',
  x: 'nVc3JhLozXjJJp_hQ8M7m2ruEwtYYlXxgDwrf_mP53g',
  y: 'HVYbAcZ1RrAudFTmFabY0qhNifuuJIXqy_luijR-iso',
} as const;

/** Kinds of public keys that Envoy verifies with; symmetric keys are none. */
const PUBLIC_KINDS: readonly unknown[] = ['RSA', 'EC', 'OKP'];

/**
 * A JSON Web Key Set as Envoy takes it: the public keys of the document, and one that no token is signed with. Nothing that an
 * issuer publishes, or fails to, makes a proxy reject its configuration; without keys every token is refused.
 */
export function envoyKeySet(document: string | undefined): string {
  return JSON.stringify({ keys: [...publicKeys(document), NOBODYS_KEY] });
}

function publicKeys(document: string | undefined): readonly object[] {
  const parsed = document === undefined ? undefined : parseJson(document);
  if (!isRecord(parsed) || !Array.isArray(parsed['keys'])) return [];
  return parsed['keys'].filter((key) => isRecord(key) && PUBLIC_KINDS.includes(key['kty']));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
