/** What metrics say about the configuration in force; counted once per snapshot. */
import { isHttp, isProxied } from '../model/protocol.ts';
import type { Service, ServicePort } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { resolveTargetPort, type Workload, workloadKey } from '../model/workload.ts';
import { policyProblems } from '../policy/problems.ts';

export interface SnapshotCounts {
  readonly services: number;
  /** HTTP ports of services: each is a virtual host of a route table. */
  readonly virtualHosts: number;
  readonly servicesWithoutEndpoints: number;
  readonly workloadsWithoutAddress: number;
  readonly policyProblems: number;
  readonly conflicts: ListenerConflicts;
}

/** Ports that cannot be told apart, by what the losing and the winning service speak. */
export interface ListenerConflicts {
  /** Two services with one virtual address and port. */
  readonly outboundHttpOverTcp: number;
  readonly outboundTcpOverHttp: number;
  readonly outboundTcpOverTcp: number;
  /** Services that take one workload port for HTTP and for raw TCP. */
  readonly inbound: number;
}

const NOTHING: SnapshotCounts = {
  services: 0,
  virtualHosts: 0,
  servicesWithoutEndpoints: 0,
  workloadsWithoutAddress: 0,
  policyProblems: 0,
  conflicts: { outboundHttpOverTcp: 0, outboundTcpOverHttp: 0, outboundTcpOverTcp: 0, inbound: 0 },
};

/** Remembers the answer for the snapshot that was asked about last. */
export function createCounter(): (snapshot: Snapshot | undefined) => SnapshotCounts {
  let last: { readonly snapshot: Snapshot; readonly counts: SnapshotCounts } | undefined;
  return (snapshot) => {
    if (snapshot === undefined) return NOTHING;
    if (last?.snapshot !== snapshot) last = { snapshot, counts: countsOf(snapshot) };
    return last.counts;
  };
}

function countsOf(snapshot: Snapshot): SnapshotCounts {
  const empty = [...snapshot.endpoints.values()].filter(
    (groups) => !groups.some((group) => group.endpoints.some((endpoint) => endpoint.ready)),
  );
  const httpPorts = snapshot.services.flatMap(({ ports }) => ports.filter(({ protocol }) => isHttp(protocol)));
  return {
    services: snapshot.services.length,
    virtualHosts: httpPorts.length,
    servicesWithoutEndpoints: empty.length,
    workloadsWithoutAddress: snapshot.workloads.filter(({ addresses }) => addresses.length === 0).length,
    policyProblems: policyProblems(snapshot).length,
    conflicts: { ...outboundConflicts(snapshot.services), inbound: inboundConflicts(snapshot) },
  };
}

type OutboundConflicts = Omit<ListenerConflicts, 'inbound'>;

function outboundConflicts(services: readonly Service[]): OutboundConflicts {
  const owners = new Map<string, Service>();
  const counts = { outboundHttpOverTcp: 0, outboundTcpOverHttp: 0, outboundTcpOverTcp: 0 };
  for (const service of services) {
    for (const address of service.addresses) {
      const owner = owners.get(address) ?? service;
      owners.set(address, owner);
      if (owner === service) continue;
      for (const kind of service.ports.flatMap((port) => conflictOf(port, owner))) counts[kind] += 1;
    }
  }
  return counts;
}

/** Two HTTP services with one address are still told apart by name. */
function conflictOf(port: ServicePort, owner: Service): readonly (keyof OutboundConflicts)[] {
  const current = owner.ports.find(({ number }) => number === port.number);
  if (current === undefined || !isProxied(port.protocol)) return [];
  if (isHttp(current.protocol)) return isHttp(port.protocol) ? [] : ['outboundTcpOverHttp'];
  return [isHttp(port.protocol) ? 'outboundHttpOverTcp' : 'outboundTcpOverTcp'];
}

function inboundConflicts(snapshot: Snapshot): number {
  const conflicts = snapshot.workloads.map((workload) =>
    disagreements(workload, snapshot.servicesByWorkload.get(workloadKey(workload)) ?? []),
  );
  return conflicts.reduce((sum, count) => sum + count, 0);
}

function disagreements(workload: Workload, services: readonly Service[]): number {
  if (services.length < 2) return 0;
  const kinds = new Map<number, Set<boolean>>();
  for (const { protocol, targetPort } of services.flatMap(({ ports }) => ports)) {
    const number = resolveTargetPort(targetPort, workload);
    if (number === undefined || !isProxied(protocol)) continue;
    kinds.set(number, (kinds.get(number) ?? new Set()).add(isHttp(protocol)));
  }
  return [...kinds.values()].filter((found) => found.size > 1).length;
}
