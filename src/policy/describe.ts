import type { AuthnPolicy } from '../model/authn-policy.ts';
import type { Claim, Decision } from './decision.ts';

/** `Policy foo/httpbin`, `MeshPolicy default` */
export function describePolicy(policy: AuthnPolicy): string {
  return policy.scope === 'mesh' ? `MeshPolicy ${policy.name}` : `Policy ${policy.namespace}/${policy.name}`;
}

/** The object that decided, as a person would look it up. */
export function describeDecider(decision: Decision): string {
  return decision.decidedBy.type === 'policy' ? describePolicy(decision.decidedBy.policy) : 'mesh configuration';
}

/** What a claim covers, from its own point of view. */
export function describeLevel({ level, labelled, policy }: Claim): string {
  const some = labelled ? ' on the workloads with its labels' : '';
  switch (level) {
    case 'port':
      return `targets this port${some}`;
    case 'service':
      return `targets this service${some}`;
    case 'namespace':
      return `covers namespace ${policy.namespace}`;
    case 'mesh':
      return 'covers the whole mesh';
  }
}
