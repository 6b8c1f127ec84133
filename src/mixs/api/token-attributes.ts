import type { AttributeMap } from './attribute-map.ts';

/** Where Envoy's jwt_authn puts the claims of tokens that it found valid, as discovery tells it to. */
const NAMESPACE = 'envoy.filters.http.jwt_authn';
const KEY = 'claims';

type Metadata = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;

/** Adds request.auth.* of a token that the proxy has verified (RFC 7519); `metadata` is Envoy's, by namespace of its filters. */
export function addToken(attributes: AttributeMap, metadata: Metadata | undefined): void {
  const claims = metadata?.[NAMESPACE]?.[KEY];
  if (!isRecord(claims)) return;
  const { iss, sub, aud, azp } = claims;
  if (typeof iss === 'string' && typeof sub === 'string') attributes.text('request.auth.principal', `${iss}/${sub}`);
  attributes.text('request.auth.audiences', textOf(aud));
  attributes.text('request.auth.presenter', textOf(azp));
  attributes.text('request.auth.raw_claims', JSON.stringify(claims));
  const texts = Object.entries(claims).flatMap(([name, value]): [string, string][] => {
    const text = textOf(value);
    return text === undefined ? [] : [[name, text]];
  });
  attributes.map('request.auth.claims', new Map(texts));
}

/** A text, or several joined by commas. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(',');
  return undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
