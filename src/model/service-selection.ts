import type { ServiceEndpoints } from './endpoints.ts';
import { compareText, keepList } from './identity.ts';
import { type Service, selects } from './service.ts';
import { type Workload, workloadKey } from './workload.ts';

/**
 * Which services each workload serves, sorted by host name: those whose selector matches its labels, and those without a
 * selector that have it among their endpoints. Readiness does not matter: a policy holds before the first request.
 */
export function servicesByWorkload(
  workloads: readonly Workload[],
  services: readonly Service[],
  endpoints: ReadonlyMap<string, ServiceEndpoints>,
  previous: ReadonlyMap<string, readonly Service[]> | undefined,
): ReadonlyMap<string, readonly Service[]> {
  const bySelector = indexBySelector(services);
  const byEndpoint = indexByEndpoint(services, endpoints);
  const selected = new Map<string, readonly Service[]>();
  for (const workload of workloads) {
    const key = workloadKey(workload);
    const found = [...matchingServices(workload, bySelector), ...(byEndpoint.get(key) ?? [])];
    found.sort((a, b) => compareText(a.hostname, b.hostname));
    selected.set(key, keepList(previous?.get(key), found));
  }
  return selected;
}

/** Services by namespace and the first pair of their selector, so that a workload meets only the few that may match. */
function indexBySelector(services: readonly Service[]): ReadonlyMap<string, readonly Service[]> {
  const index = new Map<string, Service[]>();
  for (const service of services) {
    const first = Object.entries(service.selector ?? {})[0];
    if (first !== undefined) append(index, pairKey(service.namespace, first), service);
  }
  return index;
}

function pairKey(namespace: string, [key, value]: readonly [string, string]): string {
  return `${namespace}/${key}=${value}`;
}

function matchingServices(workload: Workload, index: ReadonlyMap<string, readonly Service[]>): readonly Service[] {
  return Object.entries(workload.labels)
    .flatMap((pair) => index.get(pairKey(workload.namespace, pair)) ?? [])
    .filter((service) => selects(service.selector ?? {}, workload.labels));
}

function indexByEndpoint(
  services: readonly Service[],
  endpoints: ReadonlyMap<string, ServiceEndpoints>,
): ReadonlyMap<string, readonly Service[]> {
  const index = new Map<string, Service[]>();
  for (const service of services) {
    if (service.selector !== undefined) continue;
    const keys = new Set<string>();
    for (const group of endpoints.get(service.hostname) ?? []) {
      // Pods of another cluster are nobody here, whatever they are called.
      if (group.slice.cluster !== undefined) continue;
      for (const { workload } of group.endpoints) if (workload !== undefined) keys.add(workloadKey(workload));
    }
    for (const key of keys) append(index, key, service);
  }
  return index;
}

function append<T>(index: Map<string, T[]>, key: string, item: T): void {
  const group = index.get(key);
  if (group === undefined) index.set(key, [item]);
  else group.push(item);
}
