import type { AuthnPolicy, PolicyTarget } from '../model/authn-policy.ts';
import { describeService } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { selectsPort } from './claims.ts';
import { policyConflicts } from './conflicts.ts';
import { warningsFor } from './explain.ts';
import { resolveAuthn } from './resolve.ts';
import { combinationCount, groupByTrigger, MAX_COMBINATIONS, unusableMatches } from './trigger-rules.ts';

/** Something about a valid policy that will not work as its author may think. */
export interface PolicyProblem {
  readonly policy: AuthnPolicy;
  readonly message: string;
}

/** Everything worth telling the authors of the policies of a snapshot. */
export function policyProblems(snapshot: Snapshot): readonly PolicyProblem[] {
  const all = [...snapshot.policies.mesh, ...[...snapshot.policies.namespaces.values()].flat()];
  const ofEach = all.flatMap((policy) => problemsOfPolicy(snapshot, policy));
  return [...conflictProblems(snapshot, all), ...ofEach, ...portProblems(snapshot)];
}

/** What one policy says that will not work as its author may think, other policies aside. It need not be in the snapshot. */
export function problemsOfPolicy(snapshot: Snapshot, policy: AuthnPolicy): readonly PolicyProblem[] {
  return [...targetProblems(snapshot, policy), ...triggerProblems(policy)];
}

function triggerProblems(policy: AuthnPolicy): readonly PolicyProblem[] {
  const problems = unusableMatches(policy.origins).map(({ type, value }) => ({
    policy,
    message: `trigger rule path ${type} ${JSON.stringify(value)} cannot be matched on the path alone, so the rule applies without it`,
  }));
  if (combinationCount(groupByTrigger(policy.origins)) <= MAX_COMBINATIONS) return problems;
  const message =
    'the trigger rules of its origins have too many combinations, so every request is answered 401: give origins the same rules';
  return [...problems, { policy, message }];
}

function conflictProblems(snapshot: Snapshot, policies: readonly AuthnPolicy[]): readonly PolicyProblem[] {
  const portNumber = (namespace: string, service: string, port: string): number | undefined =>
    findService(snapshot, namespace, service)?.ports.find((candidate) => candidate.name === port)?.number;
  return policyConflicts(policies, portNumber).map(({ loser, message }) => ({ policy: loser, message }));
}

function findService(snapshot: Snapshot, namespace: string, name: string) {
  return snapshot.servicesByHostname.get(`${name}.${namespace}.svc.${snapshot.domain}`);
}

function targetProblems(snapshot: Snapshot, policy: AuthnPolicy): readonly PolicyProblem[] {
  return policy.targets.flatMap((target, index) =>
    targetMessages(snapshot, policy, target).map((message) => ({ policy, message: `spec.targets[${index}]: ${message}` })),
  );
}

function targetMessages(snapshot: Snapshot, policy: AuthnPolicy, target: PolicyTarget): readonly string[] {
  const service = findService(snapshot, policy.namespace, target.name);
  if (service === undefined) return [`there is no service ${target.name} in namespace ${policy.namespace}`];
  return target.ports
    .filter((selector) => !service.ports.some((port) => selectsPort(selector, port)))
    .map((selector) => {
      const wanted = 'number' in selector ? selector.number : selector.name;
      const ports = service.ports.map((port) => `${port.number}${port.name === '' ? '' : ` (${port.name})`}`).join(', ');
      return `service ${describeService(service)} has no port ${wanted}; it has ${ports || 'none'}`;
    });
}

/** Per service port, what the deciding policy cannot do there. */
function portProblems(snapshot: Snapshot): readonly PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  for (const service of snapshot.services) {
    for (const port of service.ports) {
      const decision = resolveAuthn(snapshot, service, port, undefined);
      if (decision.decidedBy.type !== 'policy' || decision.origins.type === 'none') continue;
      const { policy } = decision.decidedBy;
      const place = `port ${port.number} of ${describeService(service)}`;
      problems.push(...warningsFor(decision, port).map((warning) => ({ policy, message: `${place}: ${warning}` })));
    }
  }
  return problems;
}
