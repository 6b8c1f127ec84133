import type { JwksSource } from './authn-policy.ts';

/** Key of a JWKS source among the documents that were fetched for a snapshot. */
export function jwksKey(source: JwksSource): string {
  switch (source.type) {
    case 'inline':
      return `inline:${source.jwks}`;
    case 'uri':
      return `uri:${source.uri}`;
    case 'discovery':
      return `discovery:${source.issuer}`;
  }
}

/** The key set document of a source; `undefined` while it was never fetched. */
export function jwksDocument(source: JwksSource, fetched: ReadonlyMap<string, string>): string | undefined {
  return source.type === 'inline' ? source.jwks : fetched.get(jwksKey(source));
}
