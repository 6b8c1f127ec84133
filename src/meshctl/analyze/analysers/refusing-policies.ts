import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { allPolicies, policySubject } from './policies.ts';

/** MESH207: the principal is to come from a token that nobody may show. */
export function refusingPolicies({ snapshot }: MeshState): readonly Finding[] {
  return allPolicies(snapshot)
    .filter(({ principalBinding, origins }) => principalBinding === 'USE_ORIGIN' && origins.length === 0)
    .map((policy) => ({
      code: 'MESH207',
      subject: policySubject(policy),
      path: 'spec.principalBinding',
      message: 'principalBinding is USE_ORIGIN and there are no origins, so every request is answered 401',
    }));
}
