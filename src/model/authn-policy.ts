/** The authentication policy, parsed: every default filled in, every rule checked. See DESIGN section 5. */

/** Unset and `NONE` differ from nothing: a policy without peers says "not required", which outranks a wider policy. */
export type MutualTlsMode = 'STRICT' | 'PERMISSIVE';

export interface PolicyTarget {
  /** Service name, a DNS-1123 label. */
  readonly name: string;
  /** Empty: every port of the service. */
  readonly ports: readonly PortSelector[];
  /** Empty: every workload of the service. */
  readonly labels: Readonly<Record<string, string>>;
}

export type PortSelector = { readonly number: number } | { readonly name: string };

export type StringMatch = { readonly type: 'exact' | 'prefix' | 'suffix' | 'regex'; readonly value: string };

export interface TriggerRule {
  readonly excludedPaths: readonly StringMatch[];
  readonly includedPaths: readonly StringMatch[];
}

export type JwksSource =
  | { readonly type: 'inline'; readonly jwks: string }
  | { readonly type: 'uri'; readonly uri: string }
  /** OIDC discovery below the issuer. */
  | { readonly type: 'discovery'; readonly issuer: string };

export interface JwtOrigin {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly jwks: JwksSource;
  /** Header names; empty together with jwtParams: `Authorization: Bearer` and the parameter `access_token`. */
  readonly jwtHeaders: readonly string[];
  readonly jwtParams: readonly string[];
  /** Empty: every request. */
  readonly triggerRules: readonly TriggerRule[];
}

export interface AuthnPolicy {
  readonly scope: 'mesh' | 'namespace';
  readonly name: string;
  /** Empty for scope `mesh`. */
  readonly namespace: string;
  readonly creationTimestamp: string;
  readonly resourceVersion: string;
  /** Empty: the whole namespace (or mesh). */
  readonly targets: readonly PolicyTarget[];
  /** What peers ask for; `undefined`: no `mtls` peer, so mutual TLS is not required. */
  readonly mutualTls: MutualTlsMode | undefined;
  readonly peerIsOptional: boolean;
  readonly origins: readonly JwtOrigin[];
  readonly originIsOptional: boolean;
  readonly principalBinding: 'USE_PEER' | 'USE_ORIGIN';
}
