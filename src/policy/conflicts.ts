import type { AuthnPolicy, PolicyTarget } from '../model/authn-policy.ts';
import { compareText } from '../model/identity.ts';
import { comparePrecedence } from '../model/policy-index.ts';
import { describePolicy } from './describe.ts';

/** Two policies that say different things about the same, at the same level. */
export interface PolicyConflict {
  /** In force. */
  readonly winner: AuthnPolicy;
  /** Without effect on `subject`. */
  readonly loser: AuthnPolicy;
  /** `namespace foo`, `service httpbin.foo`, `port 8000 of service httpbin.foo` */
  readonly subject: string;
  readonly message: string;
}

/** Gives the number of a named port, where the service is known. */
export type PortLookup = (namespace: string, service: string, port: string) => number | undefined;

/**
 * Every pair of policies that claim the same subject, sorted by subject and age. With a port lookup, a port named by one
 * policy and numbered by another is the same port.
 */
export function policyConflicts(
  policies: readonly AuthnPolicy[],
  portNumber: PortLookup = () => undefined,
): readonly PolicyConflict[] {
  const claimants = new Map<string, AuthnPolicy[]>();
  for (const policy of policies.toSorted(comparePrecedence)) {
    for (const subject of new Set(subjectsOf(policy, portNumber))) {
      claimants.set(subject, [...(claimants.get(subject) ?? []), policy]);
    }
  }
  const conflicts: PolicyConflict[] = [];
  for (const [subject, [winner, ...losers]] of [...claimants].sort(([a], [b]) => compareText(a, b))) {
    if (winner === undefined) continue;
    for (const loser of losers) conflicts.push({ winner, loser, subject, message: describeConflict(winner, loser, subject) });
  }
  return conflicts;
}

function describeConflict(winner: AuthnPolicy, loser: AuthnPolicy, subject: string): string {
  const reason = winner.creationTimestamp === loser.creationTimestamp ? 'is first by name' : 'is older';
  return `${describePolicy(loser)} has no effect on ${subject}: ${describePolicy(winner)} ${reason} and claims it too`;
}

function subjectsOf(policy: AuthnPolicy, portNumber: PortLookup): readonly string[] {
  if (policy.scope === 'mesh') return ['the mesh'];
  if (policy.targets.length === 0) return [`namespace ${policy.namespace}`];
  return policy.targets.flatMap((target) => targetSubjects(policy.namespace, target, portNumber));
}

function targetSubjects(namespace: string, target: PolicyTarget, portNumber: PortLookup): readonly string[] {
  const labels = Object.entries(target.labels).map(([key, value]) => `${key}=${value}`);
  const workloads = labels.length === 0 ? '' : ` with labels ${labels.sort(compareText).join(',')}`;
  const service = `service ${target.name}.${namespace}${workloads}`;
  if (target.ports.length === 0) return [service];
  return target.ports.map((port) => {
    const number = 'number' in port ? port.number : portNumber(namespace, target.name, port.name);
    return `port ${number ?? ('name' in port ? port.name : '')} of ${service}`;
  });
}
