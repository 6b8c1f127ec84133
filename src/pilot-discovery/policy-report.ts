/** What this server knows about each policy: what is wrong with it, what it decides about, and which proxies have taken it. */
import type { DeliveryEvent } from '../delivery/ports.ts';
import type { AuthnPolicy } from '../model/authn-policy.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { describePolicy } from '../policy/describe.ts';
import { policyEffects } from './policy-effects.ts';
import { type PolicyFaults, policyFaults } from './policy-status.ts';
import { type ConnectedProxy, workloadOf } from './proxies.ts';
import type { Rejection } from './rejected.ts';

export interface PolicyReport extends PolicyFaults {
  /** What is said is about this. */
  readonly policy: AuthnPolicy;
  /** `httpbin.foo`, sorted. */
  readonly services: readonly string[];
  /** Of those connected to this server, the ones that the policy decides about. */
  readonly proxies: { readonly connected: number; readonly acknowledged: number };
}

export interface ReportSources {
  readonly snapshot: Snapshot;
  /** Of the snapshot. */
  readonly sequence: number;
  readonly rejections: readonly Rejection[];
  readonly proxies: readonly ConnectedProxy[];
}

/** Gives the reports of all policies of a snapshot, by `Kind namespace/name`. To be asked again as things change: it remembers since when a policy says what it says. */
export function createPolicyReports(): (sources: ReportSources) => ReadonlyMap<string, PolicyReport> {
  let since = new Map<string, { readonly content: string; readonly sequence: number }>();

  return ({ snapshot, sequence, rejections, proxies }) => {
    const all = [...snapshot.policies.mesh, ...[...snapshot.policies.namespaces.values()].flat()];
    if (all.length === 0) return new Map();
    const next: typeof since = new Map();
    for (const policy of all) {
      const name = describePolicy(policy);
      const content = contentOf(policy);
      const before = since.get(name);
      next.set(name, before?.content === content ? before : { content, sequence });
    }
    since = next;
    const faults = policyFaults(snapshot, rejections);
    const counts = countProxies(snapshot, proxies, (name) => since.get(name)?.sequence ?? sequence);
    return new Map(
      all.map((policy) => {
        const name = describePolicy(policy);
        const report: PolicyReport = {
          rejected: faults.get(name)?.rejected,
          conflict: faults.get(name)?.conflict,
          policy,
          services: policyEffects(snapshot).services.get(name) ?? [],
          proxies: counts.get(name) ?? { connected: 0, acknowledged: 0 },
        };
        return [name, report];
      }),
    );
  };
}

/** Whether something happened that can change how many proxies have taken what. */
export function changesAcknowledgements({ type }: DeliveryEvent): boolean {
  return type === 'connected' || type === 'disconnected' || type === 'current';
}

/** Whether another server, named by its pod, is gone; undefined where the pods of the control plane are not known, our own included. */
export function isGone(
  snapshot: Snapshot | undefined,
  { namespace, reporterId }: { readonly namespace: string; readonly reporterId: string },
  id: string,
): boolean | undefined {
  if (snapshot?.workloadsByKey.has(`${namespace}/${reporterId}`) !== true) return undefined;
  return !snapshot.workloadsByKey.has(`${namespace}/${id}`);
}

/** What a policy says, whatever version of the object says it: its status makes new ones. */
export function contentOf(policy: AuthnPolicy): string {
  return JSON.stringify({ ...policy, resourceVersion: '', creationTimestamp: '' });
}

function countProxies(
  snapshot: Snapshot,
  proxies: readonly ConnectedProxy[],
  sinceOf: (policy: string) => number,
): ReadonlyMap<string, PolicyReport['proxies']> {
  const { policies } = policyEffects(snapshot);
  const counts = new Map<string, PolicyReport['proxies']>();
  for (const { node, sequence } of proxies) {
    const served = snapshot.servicesByWorkload.get(workloadKeyOf(node.id)) ?? [];
    for (const name of new Set(served.flatMap(({ hostname }) => policies.get(hostname) ?? []))) {
      const { connected, acknowledged } = counts.get(name) ?? { connected: 0, acknowledged: 0 };
      const taken = sequence >= sinceOf(name) ? 1 : 0;
      counts.set(name, { connected: connected + 1, acknowledged: acknowledged + taken });
    }
  }
  return counts;
}

/** A pod's name may hold dots, a namespace none. */
function workloadKeyOf(nodeId: string): string {
  const workload = workloadOf(nodeId);
  const dot = workload.lastIndexOf('.');
  return `${workload.slice(dot + 1)}/${workload.slice(0, dot)}`;
}
