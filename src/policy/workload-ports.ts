import { compareText } from '../model/identity.ts';
import { isHttp, isProxied, type Protocol } from '../model/protocol.ts';
import type { Service, ServicePort } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { resolveTargetPort, type Workload, workloadKey } from '../model/workload.ts';
import type { Decision, OriginRule } from './decision.ts';
import { type PolicyContext, resolveAuthn, resolveUnnamedPorts } from './resolve.ts';

/** What connections to a workload port must prove. */
export interface Requirement {
  readonly mutualTls: Decision['mutualTls'];
  /** All of them must hold; none: no end-user authentication. */
  readonly origins: readonly Exclude<OriginRule, { type: 'none' }>[];
}

/** One port of a workload that services send traffic to. */
export interface WorkloadPort extends Requirement {
  readonly number: number;
  readonly http: boolean;
  /** What the services that lead here say is spoken. Where it is `raw` the server may have to speak first. */
  readonly spoken: 'http' | 'raw' | 'both';
  /** The service ports of raw TCP that lead here, sorted; none leads to two ports of one workload. */
  readonly raw: readonly RawServicePort[];
}

export interface RawServicePort {
  readonly hostname: string;
  readonly number: number;
}

export interface WorkloadAuthn {
  /** Sorted by number. */
  readonly ports: readonly WorkloadPort[];
  /** Holds for every other port. */
  readonly unnamed: Requirement;
}

interface ServedPort {
  readonly hostname: string;
  readonly servicePort: number;
  readonly protocol: Protocol;
  readonly decision: Decision;
}

/**
 * What each port of a workload requires. Nothing tells through which of several services a connection to one workload port
 * came, so it must satisfy all of them: mutual TLS if any requires it, and every service's origin rule.
 */
export function resolveWorkload(snapshot: Snapshot, workload: Workload): WorkloadAuthn {
  const services = snapshot.servicesByWorkload.get(workloadKey(workload)) ?? [];
  const served = new Map<number, ServedPort[]>();
  for (const service of services) {
    for (const port of service.ports.filter((candidate) => isProxied(candidate.protocol))) {
      const decision = resolveAuthn(snapshot, service, port, workload.labels);
      for (const number of targetPorts(snapshot, service, port, workload)) {
        const { hostname } = service;
        const one = { hostname, servicePort: port.number, protocol: port.protocol, decision };
        served.set(number, [...(served.get(number) ?? []), one]);
      }
    }
  }
  const claimed = new Set<string>();
  const ports = [...served].sort(([a], [b]) => a - b).map(([number, all]) => combine(number, all, claimed));
  return { ports, unnamed: resolveUnnamed(snapshot, workload.namespace) };
}

/** Host names of the services that lead to each port of a workload, sorted. */
export function servicesByPort(snapshot: Snapshot, workload: Workload): ReadonlyMap<number, readonly string[]> {
  const hosts = new Map<number, Set<string>>();
  for (const service of snapshot.servicesByWorkload.get(workloadKey(workload)) ?? []) {
    for (const port of service.ports.filter((candidate) => isProxied(candidate.protocol))) {
      for (const number of targetPorts(snapshot, service, port, workload)) {
        hosts.set(number, (hosts.get(number) ?? new Set()).add(service.hostname));
      }
    }
  }
  return new Map([...hosts].map(([number, names]) => [number, [...names].sort(compareText)]));
}

/** What a workload requires whose services are not known: nothing is open but what the namespace leaves open. */
export function resolveUnnamed(context: PolicyContext, namespace: string): Requirement {
  const decision = resolveUnnamedPorts(context, namespace);
  return { mutualTls: decision.mutualTls, origins: originRules([decision]) };
}

/** A service with a selector names the workload's port itself; without one, its endpoint slices do. */
function targetPorts(snapshot: Snapshot, service: Service, port: ServicePort, workload: Workload): readonly number[] {
  if (service.selector !== undefined) {
    const number = resolveTargetPort(port.targetPort, workload);
    return number === undefined ? [] : [number];
  }
  const groups = (snapshot.endpoints.get(service.hostname) ?? []).filter((group) =>
    group.endpoints.some((endpoint) => endpoint.workload === workload),
  );
  const numbers = groups.flatMap(({ slice }) => slice.ports.filter((candidate) => candidate.name === port.name));
  return [...new Set(numbers.map((candidate) => candidate.number))];
}

/**
 * Services that disagree on the protocol make it raw TCP, which carries both; unless tokens are to be checked, which only
 * works on requests.
 */
function combine(number: number, served: readonly ServedPort[], claimed: Set<string>): WorkloadPort {
  const decisions = served.map(({ decision }) => decision);
  const origins = originRules(decisions);
  const speaksHttp = served.map(({ protocol }) => isHttp(protocol));
  return {
    number,
    http: origins.length > 0 ? speaksHttp.includes(true) : !speaksHttp.includes(false),
    spoken: !speaksHttp.includes(true) ? 'raw' : speaksHttp.includes(false) ? 'both' : 'http',
    raw: rawServicePorts(served, claimed),
    mutualTls: decisions.some((decision) => decision.mutualTls === 'REQUIRED') ? 'REQUIRED' : 'OPTIONAL',
    origins,
  };
}

/** Where slices give one service port two ports of one workload, the lower one has it. */
function rawServicePorts(served: readonly ServedPort[], claimed: Set<string>): readonly RawServicePort[] {
  const ports: RawServicePort[] = [];
  for (const { hostname, servicePort, protocol } of served) {
    const name = `${hostname}:${servicePort}`;
    if (isHttp(protocol) || claimed.has(name)) continue;
    claimed.add(name);
    ports.push({ hostname, number: servicePort });
  }
  return ports.sort((a, b) => compareText(a.hostname, b.hostname) || a.number - b.number);
}

/** The rules without repetition: services that one policy covers share its list of origins. */
function originRules(decisions: readonly Decision[]): Requirement['origins'] {
  const rules: Requirement['origins'][number][] = [];
  for (const { origins } of decisions) {
    if (origins.type !== 'none' && !rules.some((rule) => sameRule(rule, origins))) rules.push(origins);
  }
  return rules;
}

function sameRule(a: OriginRule, b: OriginRule): boolean {
  if (a.type === 'refused' || a.type === 'none' || b.type === 'refused' || b.type === 'none') return a.type === b.type;
  return a.type === b.type && a.origins === b.origins;
}
