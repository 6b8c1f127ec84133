/** Where a key set comes from, and fetching it once. */
import { type Duration, seconds } from '../../lib/duration.ts';
import { formatProblem, MeshError } from '../../lib/errors.ts';
import { type Fetch, type FetchLimits, fetchDocument } from './fetch-document.ts';
import { parseJwkSet } from './jwk-set.ts';

export type JwksLocation =
  | { readonly type: 'uri'; readonly uri: string }
  /** OpenID Connect Discovery 1.0 below the issuer. */
  | { readonly type: 'discovery'; readonly issuer: string };

export interface JwksLimits extends FetchLimits {
  readonly timeout: Duration;
}

export const DEFAULT_JWKS_LIMITS: JwksLimits = { timeout: seconds(5), maxBytes: 1024 * 1024, maxRedirects: 3 };

/** One text for each location: the key of the fetcher's results. */
export function jwksLocationKey(location: JwksLocation): string {
  return location.type === 'uri' ? location.uri : `discovery:${location.issuer}`;
}

/** The key set of a location as checked JSON text of public keys alone. */
export async function fetchJwks(location: JwksLocation, fetch: Fetch, limits: JwksLimits, signal: AbortSignal): Promise<string> {
  const uri = location.type === 'uri' ? location.uri : await discover(location.issuer, fetch, limits, signal);
  const parsed = parseJwkSet(await fetchDocument(uri, fetch, limits, signal));
  if (parsed.ok) return parsed.value;
  throw new MeshError('invalid', `the document at ${uri} is no usable key set: ${parsed.problems.map(formatProblem).join('; ')}`);
}

/** The `jwks_uri` of an issuer; its document must speak of the very issuer (OpenID Connect Discovery 1.0, 4.3). */
async function discover(issuer: string, fetch: Fetch, limits: JwksLimits, signal: AbortSignal): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = parseJson(url, await fetchDocument(url, fetch, limits, signal));
  const { issuer: named, jwks_uri: uri } = document;
  if (named !== issuer)
    throw new MeshError('invalid', `the document at ${url} is of issuer ${JSON.stringify(named)}, not "${issuer}"`);
  if (typeof uri !== 'string' || !URL.canParse(uri)) throw new MeshError('invalid', `the document at ${url} has no jwks_uri`);
  if (url.startsWith('https:') && !uri.startsWith('https:')) {
    throw new MeshError('invalid', `the jwks_uri of ${url} is not https (${uri})`);
  }
  return uri;
}

function parseJson(url: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // Told below, together with JSON that is no object.
  }
  throw new MeshError('invalid', `the document at ${url} is not a JSON object`);
}
