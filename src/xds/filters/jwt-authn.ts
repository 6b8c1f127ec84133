import { HeaderMatcher } from '#gen/envoy/config/route/v3/route_components.ts';
import {
  JwtAuthentication,
  JwtProvider,
  JwtRequirement,
  RequirementRule,
} from '#gen/envoy/extensions/filters/http/jwt_authn/v3/config.ts';
import { HttpFilter } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import type { PathCondition, PathConditions } from '../../policy/trigger-rules.ts';
import type { JwtPlan, ProviderPlan, TokenRule } from '../jwt/plan.ts';
import { pack } from '../resource.ts';

/** Key of the token's claims in the metadata namespace `envoy.filters.http.jwt_authn`, for filters behind. */
const CLAIMS = 'claims';

type CheckedPlan = Extract<JwtPlan, { type: 'checked' }>;

/** Checks end-user tokens: 401 for a missing or bad one, 403 for one that is meant for another audience. */
export function buildJwtAuthn(plan: CheckedPlan): HttpFilter {
  const config = JwtAuthentication.fromPartial({
    providers: Object.fromEntries(plan.providers.map((provider) => [provider.name, buildProvider(provider)])),
    rules: mergeRules(plan.rules).map(buildRule),
  });
  return HttpFilter.fromPartial({
    name: 'envoy.filters.http.jwt_authn',
    configType: {
      $case: 'typedConfig',
      typedConfig: pack('envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication', JwtAuthentication, config),
    },
  });
}

function buildProvider(provider: ProviderPlan): JwtProvider {
  return JwtProvider.fromPartial({
    issuer: provider.issuer,
    audiences: [...provider.audiences],
    jwksSourceSpecifier: { $case: 'localJwks', localJwks: { specifier: { $case: 'inlineString', inlineString: provider.jwks } } },
    // The application sees what the client sent, token included.
    forward: true,
    fromHeaders: provider.headers.map((name) => ({ name, valuePrefix: isAuthorization(name) ? 'Bearer ' : '' })),
    fromParams: [...provider.params],
    payloadInMetadata: CLAIMS,
  });
}

const isAuthorization = (header: string): boolean => header.toLowerCase() === 'authorization';

interface MergedRule {
  readonly conditions: PathConditions;
  readonly requirements: readonly TokenRule[];
}

/**
 * One ordered list out of several that must all pass. In each list the first match counts, or nothing if none matches; the
 * merged list tries the pairs in order, each list's "nothing" last.
 */
function mergeRules(lists: readonly (readonly TokenRule[])[]): readonly MergedRule[] {
  let merged: readonly MergedRule[] = [{ conditions: [], requirements: [] }];
  for (const list of lists) {
    merged = merged.flatMap((rule) => [
      ...list.map((tokenRule) => ({
        conditions: [...rule.conditions, ...tokenRule.conditions],
        requirements: [...rule.requirements, tokenRule],
      })),
      ...(list.some(({ conditions }) => conditions.length === 0) ? [] : [rule]),
    ]);
  }
  return merged.filter(({ requirements }) => requirements.length > 0);
}

function buildRule({ conditions, requirements }: MergedRule): RequirementRule {
  const needed = requirements.map(buildRequirement);
  const [only] = needed;
  return RequirementRule.fromPartial({
    match: { pathSpecifier: { $case: 'prefix', prefix: '/' }, headers: conditions.map(pathMatcher) },
    requirementType: {
      $case: 'requires',
      requires:
        needed.length === 1 && only !== undefined
          ? only
          : { requiresType: { $case: 'requiresAll', requiresAll: { requirements: needed } } },
    },
  });
}

function buildRequirement({ providers, allowMissing }: TokenRule): JwtRequirement {
  const requirements = providers.map((providerName) =>
    JwtRequirement.fromPartial({ requiresType: { $case: 'providerName', providerName } }),
  );
  if (allowMissing) requirements.push(JwtRequirement.fromPartial({ requiresType: { $case: 'allowMissing', allowMissing: {} } }));
  const [only] = requirements;
  if (requirements.length === 1 && only !== undefined) return only;
  return JwtRequirement.fromPartial({ requiresType: { $case: 'requiresAny', requiresAny: { requirements } } });
}

function pathMatcher({ matches, pattern }: PathCondition): HeaderMatcher {
  return HeaderMatcher.fromPartial({
    name: ':path',
    headerMatchSpecifier: {
      $case: 'stringMatch',
      stringMatch: { matchPattern: { $case: 'safeRegex', safeRegex: { regex: pattern } } },
    },
    invertMatch: !matches,
  });
}
