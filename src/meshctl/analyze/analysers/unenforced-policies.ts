import { describeService, type Service } from '../../../model/service.ts';
import type { Decision } from '../../../policy/decision.ts';
import { resolveAuthn } from '../../../policy/resolve.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { listed, policySubject } from './policies.ts';

/**
 * MESH205: a policy asks for something, and pods that it means have no sidecar that could ask. Policies of the whole mesh are left
 * out: they are known to hold in the mesh only.
 */
export function unenforcedPolicies({ snapshot }: MeshState): readonly Finding[] {
  return snapshot.services.flatMap((service) => {
    const bare = (snapshot.workloadsByService.get(service.hostname) ?? []).filter(({ hasSidecar }) => !hasSidecar);
    if (bare.length === 0) return [];
    const findings = new Map<string, Finding>();
    for (const port of service.ports) {
      for (const pod of bare) {
        const finding = findingOf(
          service,
          resolveAuthn(snapshot, service, port, pod.labels),
          bare.map(({ name }) => name),
        );
        if (finding !== undefined) findings.set(JSON.stringify(finding.subject), finding);
      }
    }
    return [...findings.values()];
  });
}

function findingOf(service: Service, decision: Decision, pods: readonly string[]): Finding | undefined {
  const { decidedBy } = decision;
  if (decidedBy.type !== 'policy' || decidedBy.level === 'mesh') return undefined;
  const asks = [
    ...(decision.mutualTls === 'REQUIRED' ? ['mutual TLS'] : []),
    ...(decision.origins.type === 'none' ? [] : ['tokens']),
  ];
  if (asks.length === 0) return undefined;
  const message = `it asks callers of ${describeService(service)} for ${asks.join(' and ')}, but these pods have no sidecar: ${listed(pods)}`;
  return { code: 'MESH205', subject: policySubject(decidedBy.policy), message };
}
