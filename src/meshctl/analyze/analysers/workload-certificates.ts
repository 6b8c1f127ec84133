import { checkChain, spiffeIdOf } from '../../../io/x509/chain.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { CHAIN_ENTRY, heldCertificates, trustedRoots } from './certificates.ts';

/** MESH504, MESH507: workloads' certificates that the mesh of today does not trust. */
export function workloadCertificates(state: MeshState): readonly Finding[] {
  const roots = trustedRoots(state);
  const { trustDomain } = state.snapshot.mesh;
  return heldCertificates(state).flatMap(({ object, path, use, certificates }): readonly Finding[] => {
    if (use !== 'workload' || !certificates.ok) return [];
    const [leaf, ...intermediates] = certificates.value;
    if (leaf === undefined || leaf.validToDate <= state.now) return [];
    const subject = subjectOf(object);
    const findings: Finding[] = [];
    const [untrusted] = roots === undefined ? [] : checkChain({ leaf, intermediates, roots }, state.now);
    if (untrusted !== undefined)
      findings.push({ code: 'MESH504', subject, path, message: `${CHAIN_ENTRY}: ${untrusted.message}` });
    const id = spiffeIdOf(leaf);
    if (id.ok && id.value.trustDomain !== trustDomain) {
      const message = `${CHAIN_ENTRY} is of trust domain ${id.value.trustDomain}, the mesh is ${trustDomain}`;
      findings.push({ code: 'MESH507', subject, path, message });
    }
    return findings;
  });
}
