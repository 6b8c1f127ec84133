import type { JwtOrigin } from '../../model/authn-policy.ts';
import { jwksDocument } from '../../model/jwks.ts';
import type { OriginRule } from '../../policy/decision.ts';
import {
  combinationCount,
  groupByTrigger,
  MAX_COMBINATIONS,
  type PathConditions,
  type TriggerGroup,
} from '../../policy/trigger-rules.ts';

import { envoyKeySet } from './key-set.ts';

/** A provider of Envoy's jwt_authn filter, still in our own terms. */
export interface ProviderPlan {
  readonly name: string;
  /** Empty: whatever no other provider claims. */
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly jwks: string;
  readonly headers: readonly string[];
  readonly params: readonly string[];
}

/** Requests that meet all conditions (none: every request) need a token of one of the providers. */
export interface TokenRule {
  readonly conditions: PathConditions;
  readonly providers: readonly string[];
  readonly allowMissing: boolean;
}

export type JwtPlan =
  | { readonly type: 'none'; readonly mandatory: false }
  | { readonly type: 'refused'; readonly mandatory: true }
  | {
      readonly type: 'checked';
      /** A request without a token can be refused. */
      readonly mandatory: boolean;
      readonly providers: readonly ProviderPlan[];
      /** One list per origin rule of the port; in each the first rule whose conditions hold counts, and all lists must pass. */
      readonly rules: readonly (readonly TokenRule[])[];
      /** Whether a token is needed depends on the path. */
      readonly byPath: boolean;
    };

type ActiveRule = Exclude<OriginRule, { type: 'none' }>;

/** Plans the token checks of a port. A key set that was never fetched holds no keys, so that its tokens are refused. */
export function planJwt(rules: readonly ActiveRule[], jwks: ReadonlyMap<string, string>): JwtPlan {
  const checked = rules.filter((rule) => rule.type !== 'refused');
  if (checked.length < rules.length) return { type: 'refused', mandatory: true };
  if (checked.length === 0) return { type: 'none', mandatory: false };
  if (checked.some((rule) => combinationCount(groupByTrigger(rule.origins)) > MAX_COMBINATIONS)) {
    return { type: 'refused', mandatory: true };
  }
  const planned = checked.map((rule, index) => planRule(rule.origins, rule.type === 'optional', `${index}`, jwks));
  const optional = checked.some((rule) => rule.type === 'optional');
  const providers = planned.flatMap((rule) => rule.providers);
  return {
    type: 'checked',
    mandatory: checked.some((rule) => rule.type === 'required'),
    providers: optional ? [...providers, strangers(providers)] : providers,
    rules: planned.map((rule) => rule.tokenRules),
    byPath: planned.some((rule) => rule.tokenRules.some(({ conditions }) => conditions.length > 0)),
  };
}

/**
 * The second look behind "a token may be missing": versions of Envoy differ in whether a token of an issuer they do not know
 * counts as a missing one. This provider claims every such token, from every place a token may stand, and accepts nothing.
 */
function strangers(providers: readonly ProviderPlan[]): ProviderPlan {
  const distinct = (texts: readonly string[]) => [...new Set(texts)];
  const standard = providers.some(({ headers, params }) => headers.length === 0 && params.length === 0);
  return {
    name: 'unknown-issuer',
    issuer: '',
    audiences: [],
    jwks: envoyKeySet(undefined),
    headers: distinct([...(standard ? ['authorization'] : []), ...providers.flatMap(({ headers }) => headers)]),
    params: distinct([...(standard ? ['access_token'] : []), ...providers.flatMap(({ params }) => params)]),
  };
}

interface PlannedRule {
  readonly providers: readonly ProviderPlan[];
  readonly tokenRules: readonly TokenRule[];
}

function planRule(
  origins: readonly JwtOrigin[],
  allowMissing: boolean,
  prefix: string,
  jwks: ReadonlyMap<string, string>,
): PlannedRule {
  const nameOf = (index: number): string => `origin-${prefix}-${index}`;
  const providers = origins.map(
    (origin, index): ProviderPlan => ({
      name: nameOf(index),
      issuer: origin.issuer,
      audiences: origin.audiences,
      jwks: envoyKeySet(jwksDocument(origin.jwks, jwks)),
      headers: origin.jwtHeaders,
      params: origin.jwtParams,
    }),
  );
  const tokenRules = combinations(groupByTrigger(origins)).map(
    (chosen): TokenRule => ({ conditions: chosen.conditions, providers: chosen.origins.map(nameOf), allowMissing }),
  );
  return { providers, tokenRules };
}

interface Combination {
  readonly origins: readonly number[];
  readonly conditions: PathConditions;
}

/**
 * First match wins in Envoy, so the largest sets of origins come first: a request that reaches a smaller set meets none of
 * the larger ones, and nothing need be negated.
 */
function combinations(groups: readonly TriggerGroup[]): readonly Combination[] {
  let partial: readonly (Combination & { readonly size: number })[] = [{ origins: [], conditions: [], size: 0 }];
  for (const group of groups) {
    partial = partial.flatMap((chosen) => [
      ...group.alternatives.map((alternative) => ({
        origins: [...chosen.origins, ...group.origins],
        conditions: [...chosen.conditions, ...alternative],
        size: chosen.size + 1,
      })),
      // An origin that always applies is in every set.
      ...(group.alternatives.some((alternative) => alternative.length === 0) ? [] : [chosen]),
    ]);
  }
  return partial.filter(({ size }) => size > 0).toSorted((a, b) => b.size - a.size);
}
