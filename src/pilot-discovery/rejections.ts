/** Which object a rejected resource comes from, so that a rejection names what its author can mend. */
import type { ProxyNode, TypeUrl } from '../delivery/ports.ts';
import { policiesOf } from '../model/policy-index.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { workloadOf } from './proxies.ts';
import { TYPE_URLS } from './resource-types.ts';

export interface ObjectName {
  readonly kind: 'Service' | 'Policy' | 'MeshPolicy';
  /** Empty for a MeshPolicy. */
  readonly namespace: string;
  readonly name: string;
}

/** `Policy foo/strict`, `MeshPolicy default` */
export function describeName({ kind, namespace, name }: ObjectName): string {
  return namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/**
 * The objects that decide about what a proxy rejected, most likely culprit first: those whose name stands in Envoy's message,
 * else for the inbound listener the policies that apply to the workload.
 */
export function objectsBehind(snapshot: Snapshot, node: ProxyNode, typeUrl: TypeUrl, message: string): readonly ObjectName[] {
  const services = servicesNamed(snapshot, message);
  if (services.length > 0) return services;
  if (typeUrl !== TYPE_URLS.listener || !message.includes('virtualInbound')) return [];
  const [pod = '', namespace = ''] = splitWorkload(workloadOf(node.id));
  const served = snapshot.servicesByWorkload.get(`${namespace}/${pod}`) ?? [];
  const names = new Set(served.map((service) => service.name));
  return [...policiesOf(snapshot.policies, namespace), ...snapshot.policies.mesh]
    .filter((policy) => policy.targets.length === 0 || policy.targets.some((target) => names.has(target.name)))
    .sort((a, b) => b.origins.length - a.origins.length)
    .map(({ scope, namespace, name }) =>
      scope === 'mesh' ? { kind: 'MeshPolicy', namespace: '', name } : { kind: 'Policy', namespace, name },
    );
}

/** A thousand proxies reject a thing in the same words. */
const lastNamed = new WeakMap<Snapshot, { readonly message: string; readonly services: readonly ObjectName[] }>();

function servicesNamed(snapshot: Snapshot, message: string): readonly ObjectName[] {
  const last = lastNamed.get(snapshot);
  if (last?.message === message) return last.services;
  const services = snapshot.services
    .filter((service) => message.includes(service.hostname))
    .map(({ namespace, name }): ObjectName => ({ kind: 'Service', namespace, name }));
  lastNamed.set(snapshot, { message, services });
  return services;
}

/** A pod's name may hold dots, a namespace none. */
function splitWorkload(workload: string): readonly [string, string] {
  const dot = workload.lastIndexOf('.');
  return [workload.slice(0, dot), workload.slice(dot + 1)];
}
