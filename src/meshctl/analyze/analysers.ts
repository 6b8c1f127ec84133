/** All analysers, in the order of their codes. */
import { expiringCertificates } from './analysers/expiring-certificates.ts';
import { idlePolicies } from './analysers/idle-policies.ts';
import { idleRules } from './analysers/idle-rules.ts';
import { injectionConfiguration } from './analysers/injection-configuration.ts';
import { inlineKeys } from './analysers/inline-keys.ts';
import { invalidObjects } from './analysers/invalid-objects.ts';
import { issuers } from './analysers/issuers.ts';
import { keySources } from './analysers/key-sources.ts';
import { meshConfiguration } from './analysers/mesh-configuration.ts';
import { missingKinds } from './analysers/missing-kinds.ts';
import { missingSidecars } from './analysers/missing-sidecars.ts';
import { namespaceLabels } from './analysers/namespace-labels.ts';
import { outdatedSidecars } from './analysers/outdated-sidecars.ts';
import { policyConflicts } from './analysers/policy-conflicts.ts';
import { policyNames } from './analysers/policy-names.ts';
import { policyTargets } from './analysers/policy-targets.ts';
import { portNames } from './analysers/port-names.ts';
import { publishedRoots } from './analysers/published-roots.ts';
import { refusingPolicies } from './analysers/refusing-policies.ts';
import { ruleDestinations } from './analysers/rule-destinations.ts';
import { ruleProblems } from './analysers/rule-problems.ts';
import { servicePods } from './analysers/service-pods.ts';
import { sharedPorts } from './analysers/shared-ports.ts';
import { targetPorts } from './analysers/target-ports.ts';
import { tokenPorts } from './analysers/token-ports.ts';
import { triggerRules } from './analysers/trigger-rules.ts';
import { unenforcedPolicies } from './analysers/unenforced-policies.ts';
import { webhookAuthority } from './analysers/webhook-authority.ts';
import { webhookReach } from './analysers/webhook-reach.ts';
import { webhookSettings } from './analysers/webhook-settings.ts';
import { workloadCertificates } from './analysers/workload-certificates.ts';
import { type Finding, sortFindings } from './finding.ts';
import type { MeshState } from './mesh-state.ts';

type Analyser = (state: MeshState) => readonly Finding[];

const ANALYSERS: readonly Analyser[] = [
  invalidObjects,
  missingKinds,
  meshConfiguration,
  injectionConfiguration,
  policyConflicts,
  policyTargets,
  idlePolicies,
  unenforcedPolicies,
  tokenPorts,
  refusingPolicies,
  triggerRules,
  policyNames,
  issuers,
  keySources,
  inlineKeys,
  portNames,
  servicePods,
  targetPorts,
  sharedPorts,
  expiringCertificates,
  workloadCertificates,
  publishedRoots,
  webhookReach,
  webhookAuthority,
  webhookSettings,
  missingSidecars,
  outdatedSidecars,
  namespaceLabels,
  ruleProblems,
  idleRules,
  ruleDestinations,
];

/** Everything that is wrong with a mesh, the worst first. */
export function analyse(state: MeshState): readonly Finding[] {
  return sortFindings(ANALYSERS.flatMap((analyser) => analyser(state)));
}
