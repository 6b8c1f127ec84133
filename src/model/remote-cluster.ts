import type { EndpointSlice } from './endpoint-slice.ts';
import type { Node } from './locality.ts';
import type { Service } from './service.ts';
import type { Workload } from './workload.ts';

/** What another cluster adds to the mesh: endpoints of services that both have, and services that it has alone. */
export interface RemoteCluster {
  readonly name: string;
  /** Without selectors: those would choose among our own pods. */
  readonly services: readonly Service[];
  /** Each with the cluster's name. */
  readonly endpointSlices: readonly EndpointSlice[];
  readonly workloads: readonly Workload[];
  readonly nodes: readonly Node[];
}

/** A service that only a remote cluster has, and that cannot be had under its own address. */
export interface LeftOut {
  readonly cluster: string;
  readonly service: Service;
  readonly message: string;
}

export interface MergedServices {
  /** Our own first, then those that only remote clusters have; of several with one host name, only the first. */
  readonly services: readonly Service[];
  readonly leftOut: readonly LeftOut[];
}

/**
 * One service a host name. What our own cluster says of it counts, then what the first remote cluster says. The virtual addresses of
 * clusters are chosen independently of each other: a remote service with the address of another one is left out.
 */
export function mergeServices(own: readonly Service[], remotes: readonly RemoteCluster[]): MergedServices {
  if (remotes.length === 0) return { services: own, leftOut: [] };
  const services = [...own];
  const leftOut: LeftOut[] = [];
  const known = new Set(own.map(({ hostname }) => hostname));
  const owners = new Map(own.flatMap((service) => service.addresses.map((address) => [address, service] as const)));
  for (const { name: cluster, services: theirs } of remotes) {
    for (const service of theirs) {
      if (known.has(service.hostname)) continue;
      const taken = service.addresses.find((address) => owners.has(address));
      if (taken === undefined) {
        known.add(service.hostname);
        services.push(service);
        for (const address of service.addresses) owners.set(address, service);
      } else {
        const message = `only cluster ${cluster} has it, at the address ${taken} of ${owners.get(taken)?.hostname}; create a Service of this name here too`;
        leftOut.push({ cluster, service, message });
      }
    }
  }
  return { services, leftOut };
}
