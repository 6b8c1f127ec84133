import { policyConflicts as conflictsOf } from '../../../policy/conflicts.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { allPolicies, findService, policySubject } from './policies.ts';

/** MESH201: of two policies that claim the same, one has no effect. */
export function policyConflicts({ snapshot }: MeshState): readonly Finding[] {
  const portNumber = (namespace: string, service: string, port: string): number | undefined =>
    findService(snapshot, namespace, service)?.ports.find(({ name }) => name === port)?.number;
  return conflictsOf(allPolicies(snapshot), portNumber).map(({ loser, message }) => ({
    code: 'MESH201',
    subject: policySubject(loser),
    message,
  }));
}
