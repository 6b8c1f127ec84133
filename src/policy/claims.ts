import type { AuthnPolicy, PolicyTarget, PortSelector } from '../model/authn-policy.ts';
import { type PolicyIndex, policiesOf } from '../model/policy-index.ts';
import { type Service, type ServicePort, selects } from '../model/service.ts';
import { type Claim, LEVELS, type Level } from './decision.ts';

/** Labels of the workload behind the port; `undefined`: any workload, so targets with labels do not speak. */
export type Labels = Readonly<Record<string, string>> | undefined;

/** Every policy that speaks about a port of a service, the one in force first. */
export function claimsOn(policies: PolicyIndex, service: Service, port: ServicePort, labels: Labels): readonly Claim[] {
  const own = policiesOf(policies, service.namespace).map((policy) => claimOf(policy, service, port, labels));
  return sortClaims([...own.filter((claim) => claim !== undefined), ...policies.mesh.map(meshClaim)]);
}

/** Every policy that speaks about ports of a namespace's workloads that no service names. */
export function claimsOnNamespace(policies: PolicyIndex, namespace: string): readonly Claim[] {
  const own = policiesOf(policies, namespace).filter((policy) => policy.targets.length === 0);
  return sortClaims([...own.map(namespaceClaim), ...policies.mesh.map(meshClaim)]);
}

const meshClaim = (policy: AuthnPolicy): Claim => ({ level: 'mesh', labelled: false, policy });
const namespaceClaim = (policy: AuthnPolicy): Claim => ({ level: 'namespace', labelled: false, policy });

/** The most specific thing that one policy says about a port; `undefined` if it says nothing. */
function claimOf(policy: AuthnPolicy, service: Service, port: ServicePort, labels: Labels): Claim | undefined {
  if (policy.targets.length === 0) return namespaceClaim(policy);
  const claims = policy.targets
    .filter((target) => target.name === service.name && covers(target, port) && matchesLabels(target, labels))
    .map((target): Claim => ({ level: levelOf(target), labelled: isLabelled(target), policy }));
  return sortClaims(claims)[0];
}

export function levelOf(target: PolicyTarget): Level {
  return target.ports.length === 0 ? 'service' : 'port';
}

export function isLabelled(target: PolicyTarget): boolean {
  return Object.keys(target.labels).length > 0;
}

export function selectsPort(selector: PortSelector, port: ServicePort): boolean {
  return 'number' in selector ? selector.number === port.number : selector.name === port.name;
}

function covers(target: PolicyTarget, port: ServicePort): boolean {
  return target.ports.length === 0 || target.ports.some((selector) => selectsPort(selector, port));
}

function matchesLabels(target: PolicyTarget, labels: Labels): boolean {
  return !isLabelled(target) || (labels !== undefined && selects(target.labels, labels));
}

/** Stable, so that claims of one level keep the order of the index: older first. */
function sortClaims(claims: readonly Claim[]): readonly Claim[] {
  return claims.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || Number(b.labelled) - Number(a.labelled));
}
