/** Whose tokens are trusted: the ConfigMap `mesh-token-issuers`, one issuer for each of its keys. */

import { parseJwkSet } from '../io/jwks/jwk-set.ts';
import { type JwksLocation, jwksLocationKey } from '../io/jwks/source.ts';
import type { TrustedIssuer } from '../io/jwks/verify-token.ts';
import { formatProblem, type Parsed, type Problem } from '../lib/errors.ts';
import type { KubeObject } from '../model/object.ts';
import { Fields } from '../model/parse/fields.ts';
import { readYaml } from '../model/parse/yaml.ts';

export const TOKEN_ISSUERS_CONFIG_MAP = 'mesh-token-issuers';
export const DEFAULT_AUDIENCE = 'mesh-ca';

export interface TokenIssuer {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly keys:
    | { readonly type: 'inline'; readonly jwks: string }
    | { readonly type: 'remote'; readonly location: JwksLocation };
}

export interface TokenIssuers {
  /** Sorted by key of the ConfigMap. */
  readonly issuers: readonly TokenIssuer[];
  /** What is wrong with the others, which are not trusted. */
  readonly problems: readonly Problem[];
}

export const NO_ISSUERS: TokenIssuers = { issuers: [], problems: [] };

/** Reads every issuer of the ConfigMap; a bad one leaves the good ones in force. */
export function parseTokenIssuers(configMap: KubeObject): TokenIssuers {
  const noted: Problem[] = [];
  const entries = Object.entries(new Fields(configMap, '', noted).textMap('data')).sort(([left], [right]) =>
    left < right ? -1 : 1,
  );
  const parsed = entries.map(([key, text]) => parseIssuer(`data.${key}`, text));
  return {
    issuers: parsed.flatMap((result) => (result.ok ? [result.value] : [])),
    problems: [...noted, ...parsed.flatMap((result) => (result.ok ? [] : result.problems))],
  };
}

function parseIssuer(path: string, text: string): Parsed<TokenIssuer> {
  const yaml = readYaml(text);
  if (!yaml.ok) return { ok: false, problems: [{ ...yaml.problem, path }] };
  const problems: Problem[] = [];
  const [document] = yaml.value.values;
  const fields = new Fields(document, path, problems);
  const issuer = fields.requiredText('issuer');
  const audiences = fields.texts('audiences');
  const keys = parseKeys(fields, document, issuer);
  if (problems.length > 0 || keys === undefined) return { ok: false, problems };
  return { ok: true, value: { issuer, audiences: audiences.length === 0 ? [DEFAULT_AUDIENCE] : audiences, keys } };
}

/** Keys in the document itself, at an address, or where OpenID Connect Discovery finds them. */
function parseKeys(fields: Fields, document: unknown, issuer: string): TokenIssuer['keys'] | undefined {
  if (fields.has('jwks')) {
    if (fields.has('jwksUri')) fields.refuse('jwksUri', 'cannot stand beside jwks: give one of them');
    const jwks = (document as Readonly<Record<string, unknown>>)['jwks'];
    const parsed = parseJwkSet(typeof jwks === 'string' ? jwks : JSON.stringify(jwks));
    if (parsed.ok) return { type: 'inline', jwks: parsed.value };
    fields.refuse('jwks', parsed.problems.map(formatProblem).join('; '));
    return undefined;
  }
  const uri = fields.text('jwksUri') ?? (isWebAddress(issuer) ? undefined : '');
  if (uri === undefined) return { type: 'remote', location: { type: 'discovery', issuer } };
  if (isWebAddress(uri)) return { type: 'remote', location: { type: 'uri', uri } };
  fields.refuse('jwksUri', 'is needed as an http or https address, unless jwks is there or the issuer is such an address');
  return undefined;
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Where keys have to be fetched from. */
export function remoteLocations(issuers: readonly TokenIssuer[]): readonly JwksLocation[] {
  return issuers.flatMap(({ keys }) => (keys.type === 'remote' ? [keys.location] : []));
}

/** The issuers with the keys that are known now. */
export function withKeys(issuers: readonly TokenIssuer[], fetched: ReadonlyMap<string, string>): readonly TrustedIssuer[] {
  return issuers.map(({ issuer, audiences, keys }) => ({
    issuer,
    audiences,
    jwks: keys.type === 'inline' ? keys.jwks : fetched.get(jwksLocationKey(keys.location)),
  }));
}
