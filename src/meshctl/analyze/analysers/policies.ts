/** What analysers of policies have in common. */
import type { AuthnPolicy } from '../../../model/authn-policy.ts';
import type { Service } from '../../../model/service.ts';
import type { Snapshot } from '../../../model/snapshot.ts';
import type { Subject } from '../finding.ts';

/** Namespaces whose services and pods belong to the orchestrator. */
export const ORCHESTRATOR_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];

export function policySubject(policy: AuthnPolicy): Subject {
  if (policy.scope === 'mesh') return { kind: 'MeshPolicy', name: policy.name };
  return { kind: 'Policy', namespace: policy.namespace, name: policy.name };
}

export function allPolicies({ policies }: Snapshot): readonly AuthnPolicy[] {
  return [...policies.mesh, ...[...policies.namespaces.values()].flat()];
}

export function findService(snapshot: Snapshot, namespace: string, name: string): Service | undefined {
  return snapshot.servicesByHostname.get(`${name}.${namespace}.svc.${snapshot.domain}`);
}

/** `a, b and 3 more` */
export function listed(names: readonly string[]): string {
  if (names.length <= 3) return names.join(', ');
  return `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`;
}
