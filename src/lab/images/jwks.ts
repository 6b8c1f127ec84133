import { setTimeout as after } from 'node:timers/promises';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../io/http/types.ts';
import { type Duration, parseDuration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { publicKeySet, type SigningKeys } from './signing-keys.ts';
import { mintToken, requireVariant } from './token.ts';

/** How the key set is served: as it should be, or badly on purpose. */
const FAULTS = ['none', 'down', 'slow', 'garbage', 'empty'] as const;
type Fault = (typeof FAULTS)[number];

/** Longer than any client of a key set waits. */
const SLOW_MS = 30_000;

export interface TokenIssuer {
  readonly keys: SigningKeys;
  /** Issuer of tokens that ask for no other. */
  readonly issuer: string;
  readonly now: () => Date;
}

/**
 * Serves a token issuer: `/jwks`, `/.well-known/openid-configuration`, `/token?iss=&sub=&aud=&exp=&variant=` (a token as text), and
 * `POST /fault?mode=none|down|slow|garbage|empty`, which makes the first two fail from then on.
 */
export function tokenIssuer(issuer: TokenIssuer): HttpHandler {
  let fault: Fault = 'none';
  return async (request) => {
    switch (`${request.method} ${request.path}`) {
      case 'GET /jwks':
        return faulty(fault, request, () => publicKeySet(issuer.keys));
      case 'GET /.well-known/openid-configuration':
        return faulty(fault, request, () => discovery(request, issuer.issuer));
      case 'GET /token':
        return { status: 200, headers: { 'content-type': 'application/jwt' }, body: token(request.query, issuer) };
      case 'POST /fault':
        fault = requireFault(request.query.get('mode') ?? '');
        return { status: 204 };
      case 'GET /ready':
        return { status: 204 };
      default:
        throw new MeshError(
          'not_found',
          'there are GET /jwks, /.well-known/openid-configuration, /token, /ready and POST /fault',
        );
    }
  };
}

async function faulty(fault: Fault, request: HttpRequest, document: () => object): Promise<HttpResponse> {
  const headers = { 'content-type': 'application/json' };
  switch (fault) {
    case 'none':
      return { status: 200, headers, body: JSON.stringify(document()) };
    case 'down':
      throw new MeshError('unavailable', 'down, as asked by /fault');
    case 'slow':
      await after(SLOW_MS, undefined, { signal: request.signal });
      return { status: 200, headers, body: JSON.stringify(document()) };
    case 'garbage':
      return { status: 200, headers, body: '{"keys": [' };
    case 'empty':
      return { status: 200, headers, body: '{"keys": []}' };
  }
}

function discovery(request: HttpRequest, issuer: string): object {
  const base = `http://${request.headers.get('host') ?? 'localhost'}`;
  return {
    issuer,
    jwks_uri: `${base}/jwks`,
    token_endpoint: `${base}/token`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
}

function token(query: URLSearchParams, issuer: TokenIssuer): string {
  const request = {
    issuer: query.get('iss') ?? issuer.issuer,
    subject: query.get('sub') ?? 'user',
    audiences: query.getAll('aud'),
    expiresIn: lifetime(query.get('exp') ?? '1h'),
    variant: requireVariant(query.get('variant') ?? 'valid'),
  };
  return mintToken(issuer.keys, request, issuer.now());
}

/** A duration, or seconds. */
function lifetime(text: string): Duration {
  if (/^\d{1,9}$/.test(text)) return seconds(Number(text));
  const duration = parseDuration(text);
  if (duration.ok) return duration.value;
  throw new MeshError('invalid', `exp: ${duration.problems.map(({ message }) => message).join('; ')}`);
}

function requireFault(text: string): Fault {
  const fault = FAULTS.find((known) => known === text);
  if (fault === undefined) throw new MeshError('invalid', `the mode "${text}" is unknown; use one of ${FAULTS.join(', ')}`);
  return fault;
}
