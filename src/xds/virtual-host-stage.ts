import { VirtualHost } from '#gen/envoy/config/route/v3/route_components.ts';
import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Encoder } from './encoder.ts';
import { createNamespaceSets } from './namespace-sets.ts';
import type { HttpService, OutboundPlan } from './outbound-plan.ts';
import type { EncodedResource, ResourceSet } from './resource.ts';
import { buildServiceHost, deliveredHostName, type HostScope, hostScope } from './virtual-host.ts';

interface CachedHost {
  readonly addresses: string;
  readonly byScope: Partial<Record<HostScope, EncodedResource>>;
}

/**
 * The virtual hosts of all route tables, each a resource of its own named `<route table>/<host>`, by the namespace of the proxy that asks:
 * for proxies to whom a new service must not cost a whole table.
 * https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 */
export function createVirtualHostStage(
  encoder: Encoder,
): (snapshot: Snapshot, plan: OutboundPlan, namespace: string) => ResourceSet {
  const hosts = new WeakMap<Service, Map<number, CachedHost>>();

  const host = ({ service, addresses }: HttpService, port: number, namespace: string): EncodedResource => {
    const byPort = hosts.get(service) ?? new Map<number, CachedHost>();
    hosts.set(service, byPort);
    const key = addresses.join(' ');
    const cached = byPort.get(port);
    const made = cached?.addresses === key ? cached : { addresses: key, byScope: {} };
    if (made !== cached) byPort.set(port, made);
    const scope = hostScope(service, namespace);
    const name = deliveredHostName(service, port);
    made.byScope[scope] ??= encoder.resource(
      name,
      VirtualHost.encode(buildServiceHost(name, service, port, addresses, scope)).finish(),
    );
    return made.byScope[scope];
  };

  return createNamespaceSets(encoder, {
    resources: (_, plan, namespace) =>
      [...plan.http].flatMap(([port, services]) => services.map((service) => host(service, port, namespace))),
    prune: () => {},
  });
}
