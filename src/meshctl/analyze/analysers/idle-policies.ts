import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { policySubject } from './policies.ts';

/** MESH204: policies of a namespace that does not exist, or has nothing that they could hold for. */
export function idlePolicies({ snapshot, objects, knows }: MeshState): readonly Finding[] {
  const namespaces = new Set(objects.namespace.map(({ metadata }) => metadata.name));
  const occupied = new Set([...snapshot.services, ...snapshot.workloads].map(({ namespace }) => namespace));
  return [...snapshot.policies.namespaces.values()].flat().flatMap((policy): readonly Finding[] => {
    const { namespace } = policy;
    const finding = (message: string): readonly Finding[] => [{ code: 'MESH204', subject: policySubject(policy), message }];
    if (knows('namespace') && namespaces.size > 0 && !namespaces.has(namespace))
      return finding(`there is no namespace ${namespace}`);
    if (policy.targets.length > 0 || occupied.has(namespace) || !knows('service') || !knows('pod')) return [];
    return finding(`namespace ${namespace} has neither services nor pods`);
  });
}
