import { compareText } from '../model/identity.ts';
import { isHttp, isProxied } from '../model/protocol.ts';
import { describeService, type Service, type ServicePort } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Labels } from './claims.ts';
import { type Claim, type Decision, LEVELS, type Level, type OriginRule } from './decision.ts';
import { describeDecider, describeLevel, describePolicy } from './describe.ts';
import { resolveAuthn } from './resolve.ts';

export interface OverruledClaim {
  /** `Policy foo/default` */
  readonly object: string;
  readonly level: Level;
  /** `conflict`: as specific as the deciding one, but younger. */
  readonly kind: 'less-specific' | 'conflict';
  readonly reason: string;
}

/** Why a port requires what it requires, in words and in data. */
export interface Explanation {
  /** `httpbin.foo` */
  readonly service: string;
  readonly port: { readonly number: number; readonly name: string; readonly protocol: string };
  readonly mutualTls: Decision['mutualTls'];
  readonly origins: { readonly type: OriginRule['type']; readonly issuers: readonly string[] };
  readonly principalBinding: Decision['principalBinding'];
  readonly decidedBy: { readonly object: string; readonly level: Level | 'mesh-config'; readonly reason: string };
  readonly overruled: readonly OverruledClaim[];
  /** Set when this holds only for the workloads with these labels. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** What a caller meets, one sentence each. */
  readonly effects: readonly string[];
  /** What in this will not work as its author may think. */
  readonly warnings: readonly string[];
}

/**
 * Explains one port of a service, or all of them: first what holds for its workloads in general, then what policies with
 * labels make of it for some of them.
 */
export function explain(snapshot: Snapshot, service: Service, portNumber?: number): readonly Explanation[] {
  const ports = service.ports.filter((port) => portNumber === undefined || port.number === portNumber);
  return ports.flatMap((port) => [
    explainPort(snapshot, service, port, undefined),
    ...labelSets(snapshot, service).map((labels) => explainPort(snapshot, service, port, labels)),
  ]);
}

/** The label sets that targets of this service name. */
function labelSets(snapshot: Snapshot, service: Service): readonly Readonly<Record<string, string>>[] {
  const policies = snapshot.policies.namespaces.get(service.namespace) ?? [];
  const targets = policies.flatMap((policy) => policy.targets).filter((target) => target.name === service.name);
  const sets = new Map<string, Readonly<Record<string, string>>>();
  for (const { labels } of targets) {
    const key = JSON.stringify(Object.entries(labels).sort(([a], [b]) => compareText(a, b)));
    if (Object.keys(labels).length > 0) sets.set(key, labels);
  }
  return [...sets.values()];
}

function explainPort(snapshot: Snapshot, service: Service, port: ServicePort, labels: Labels): Explanation {
  const decision = resolveAuthn(snapshot, service, port, labels);
  const issuers = 'origins' in decision.origins ? decision.origins.origins.map((origin) => origin.issuer) : [];
  return {
    service: describeService(service),
    port: { number: port.number, name: port.name, protocol: port.protocol },
    mutualTls: decision.mutualTls,
    origins: { type: decision.origins.type, issuers },
    principalBinding: decision.principalBinding,
    decidedBy: explainDecider(decision, snapshot),
    overruled: decision.overruled.map((claim) => explainOverruled(claim, decision)),
    labels,
    effects: [mutualTlsEffect(decision), originEffect(decision.origins, port)],
    warnings: warningsFor(decision, port),
  };
}

function explainDecider(decision: Decision, snapshot: Snapshot): Explanation['decidedBy'] {
  const { decidedBy } = decision;
  const object = describeDecider(decision);
  if (decidedBy.type === 'mesh-config') {
    const reason = `no policy speaks about this port, and authPolicy is ${snapshot.mesh.authPolicy}`;
    return { object, level: 'mesh-config', reason };
  }
  return { object, level: decidedBy.level, reason: `it ${describeLevel(decidedBy)}, and no other policy is more specific` };
}

function explainOverruled(claim: Claim, decision: Decision): OverruledClaim {
  const winner = decision.decidedBy;
  const object = describePolicy(claim.policy);
  const decider = describeDecider(decision);
  if (winner.type === 'policy' && winner.level === claim.level && winner.labelled === claim.labelled) {
    const order = winner.policy.creationTimestamp === claim.policy.creationTimestamp ? 'first by name' : 'older';
    return { object, level: claim.level, kind: 'conflict', reason: `it ${describeLevel(claim)} too, but ${decider} is ${order}` };
  }
  return { object, level: claim.level, kind: 'less-specific', reason: `it ${describeLevel(claim)}; ${decider} is more specific` };
}

function mutualTlsEffect(decision: Decision): string {
  return decision.mutualTls === 'REQUIRED'
    ? 'mutual TLS is required: connections from outside the mesh are reset'
    : 'mutual TLS is not required: plaintext and mesh mutual TLS are both accepted';
}

function originEffect(rule: OriginRule, port: ServicePort): string {
  if (rule.type === 'none') return 'no end-user token is asked for';
  const http = isHttp(port.protocol);
  if (rule.type === 'refused' || (rule.type === 'required' && !http)) {
    return http ? 'every request is answered 401' : 'every connection is refused';
  }
  const issuers = rule.origins.map((origin) => origin.issuer).join(' or ');
  return rule.type === 'required'
    ? `requests need a valid token of ${issuers}; others are answered 401`
    : `requests may carry a token of ${issuers}; a bad one is answered 401`;
}

/** What a decision on this port will not do, or does more harshly than its author may think. */
export function warningsFor(decision: Decision, port: ServicePort): readonly string[] {
  const warnings: string[] = [];
  if (!isProxied(port.protocol)) warnings.push('UDP is not proxied, so no policy holds on this port');
  if (decision.origins.type === 'refused') {
    warnings.push('principalBinding is USE_ORIGIN but there are no origins: add one, or use USE_PEER');
  }
  if (isProxied(port.protocol) && !isHttp(port.protocol) && decision.origins.type !== 'none') {
    const consequence = decision.origins.type === 'optional' ? 'they are not checked' : 'connections are refused';
    warnings.push(
      `tokens cannot be checked on a port that speaks ${port.protocol}, so ${consequence}: name the port http-... or set appProtocol`,
    );
  }
  return warnings;
}

/** The order in which levels decide, for help texts. */
export const PRECEDENCE: readonly string[] = [...LEVELS, 'mesh configuration'];
