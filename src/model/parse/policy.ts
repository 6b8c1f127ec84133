import type { Parsed, Problem } from '../../lib/errors.ts';
import type { AuthnPolicy } from '../authn-policy.ts';
import type { KubeObject } from '../object.ts';
import { DEFAULT_NAMESPACE } from './object.ts';
import { type AuthenticationNames, checkTopLevel } from './policy-envelope.ts';
import { checkSpec, readSpec } from './policy-spec.ts';

/** Parses a Policy: its defaults filled in, or everything that is wrong with it. */
export function parsePolicy(object: KubeObject, names: AuthenticationNames): Parsed<AuthnPolicy> {
  const problems = [...checkTopLevel(object, 'Policy', names), ...checkSpec(object.spec)];
  if (problems.length > 0) return { ok: false, problems };
  const { name, namespace, creationTimestamp, resourceVersion } = object.metadata;
  const value: AuthnPolicy = {
    scope: 'namespace',
    name,
    namespace: namespace ?? DEFAULT_NAMESPACE,
    creationTimestamp: creationTimestamp ?? '',
    resourceVersion: resourceVersion ?? '',
    ...readSpec(object.spec),
  };
  return { ok: true, value };
}

/** What is allowed in a policy, but probably not what its author means. */
export function policyWarnings(policy: AuthnPolicy): readonly Problem[] {
  const warnings: Problem[] = [];
  if (policy.scope === 'namespace' && policy.targets.length === 0 && policy.name !== 'default') {
    const message = `a policy for the whole namespace is usually named "default", not "${policy.name}"; the name changes nothing about what it does`;
    warnings.push({ path: 'metadata.name', message });
  }
  if (policy.principalBinding === 'USE_ORIGIN' && policy.origins.length === 0) {
    const message = 'USE_ORIGIN without origins: no request has an origin, so every request is refused (401)';
    warnings.push({ path: 'spec.principalBinding', message });
  }
  return warnings;
}
