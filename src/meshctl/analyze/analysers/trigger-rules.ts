import { combinationCount, groupByTrigger, MAX_COMBINATIONS, unusableMatches } from '../../../policy/trigger-rules.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { allPolicies, policySubject } from './policies.ts';

/** MESH208: trigger rules that make more requests need a token than they say. */
export function triggerRules({ snapshot }: MeshState): readonly Finding[] {
  return allPolicies(snapshot).flatMap((policy) => {
    const finding = (message: string): Finding => ({ code: 'MESH208', subject: policySubject(policy), message });
    const unusable = unusableMatches(policy.origins).map(({ type, value }) =>
      finding(`path ${type} ${JSON.stringify(value)} cannot be matched on the path alone, so the rule applies without it`),
    );
    const combinations = combinationCount(groupByTrigger(policy.origins));
    if (combinations <= MAX_COMBINATIONS) return unusable;
    const many = `the rules of its origins have more than ${MAX_COMBINATIONS} combinations, so every request is answered 401`;
    return [...unusable, finding(many)];
  });
}
