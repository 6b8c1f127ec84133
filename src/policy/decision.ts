import type { AuthnPolicy, JwtOrigin } from '../model/authn-policy.ts';

/** How specific a policy is to a port of a service; the first in this order that speaks decides alone. */
export const LEVELS = ['port', 'service', 'namespace', 'mesh'] as const;
export type Level = (typeof LEVELS)[number];

/** A policy that speaks about a port, and how specifically. */
export interface Claim {
  readonly level: Level;
  /** The target names labels, so it holds for some workloads of the service only; it goes before one that does not. */
  readonly labelled: boolean;
  readonly policy: AuthnPolicy;
}

export type DecidedBy = ({ readonly type: 'policy' } & Claim) | { readonly type: 'mesh-config' };

/** What requests must prove about the end user. */
export type OriginRule =
  | { readonly type: 'none' }
  /** Any one of the origins must validate. */
  | { readonly type: 'required'; readonly origins: readonly JwtOrigin[] }
  /** As required, but a request without any token passes. */
  | { readonly type: 'optional'; readonly origins: readonly JwtOrigin[] }
  /** The principal is to come from an origin and there is none: no request can pass. */
  | { readonly type: 'refused' };

/** What one port of one service requires, and who says so. */
export interface Decision {
  readonly mutualTls: 'REQUIRED' | 'OPTIONAL';
  readonly origins: OriginRule;
  readonly principalBinding: 'USE_PEER' | 'USE_ORIGIN';
  readonly decidedBy: DecidedBy;
  /** The other claims, most specific first: what would decide if those before it were gone. */
  readonly overruled: readonly Claim[];
}

export function originRule(policy: AuthnPolicy): OriginRule {
  if (policy.origins.length > 0) return { type: policy.originIsOptional ? 'optional' : 'required', origins: policy.origins };
  return policy.principalBinding === 'USE_ORIGIN' ? { type: 'refused' } : { type: 'none' };
}

export function mutualTlsOf(policy: AuthnPolicy): Decision['mutualTls'] {
  return policy.mutualTls === 'STRICT' && !policy.peerIsOptional ? 'REQUIRED' : 'OPTIONAL';
}
