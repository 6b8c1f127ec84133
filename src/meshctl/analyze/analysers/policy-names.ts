import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { policySubject } from './policies.ts';

/** MESH209: the policy of a whole namespace has a name of its own. */
export function policyNames({ snapshot }: MeshState): readonly Finding[] {
  return [...snapshot.policies.namespaces.values()]
    .flat()
    .filter(({ targets, name }) => targets.length === 0 && name !== 'default')
    .map((policy) => ({
      code: 'MESH209',
      subject: policySubject(policy),
      path: 'metadata.name',
      message: `covers all of namespace ${policy.namespace}, but is named "${policy.name}"; what it does is the same`,
    }));
}
