import { VirtualHost } from '#gen/envoy/config/route/v3/route_components.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Encoder } from './encoder.ts';
import { createNamespaceSets } from './namespace-sets.ts';
import type { HttpService, OutboundPlan } from './outbound-plan.ts';
import type { EncodedResource, ResourceSet } from './resource.ts';
import { encodeRouteTable } from './route.ts';
import { buildServiceHost, buildUnknownHost, type HostScope, hostScope, inlineHostName } from './virtual-host.ts';

interface HostBytes {
  readonly addresses: string;
  readonly byScope: Partial<Record<HostScope, Uint8Array>>;
}

/** What one route table was made from. */
interface CachedTable {
  readonly parts: readonly Uint8Array[];
  readonly resource: EncodedResource;
}

/**
 * The route tables with all their virtual hosts, one per HTTP port number, by the namespace of the proxy that asks: for proxies that get
 * the state of the world.
 */
export function createRouteStage(encoder: Encoder): (snapshot: Snapshot, plan: OutboundPlan, namespace: string) => ResourceSet {
  const hosts = new WeakMap<Service, Map<number, HostBytes>>();
  const unknownHost = createUnknownHosts();
  const tables = new Map<string, CachedTable>();

  const hostOf = ({ service, addresses }: HttpService, port: number, scope: HostScope): Uint8Array => {
    const byPort = hosts.get(service) ?? new Map<number, HostBytes>();
    hosts.set(service, byPort);
    const key = addresses.join(' ');
    const cached = byPort.get(port);
    const made = cached?.addresses === key ? cached : { addresses: key, byScope: {} };
    if (made !== cached) byPort.set(port, made);
    made.byScope[scope] ??= VirtualHost.encode(
      buildServiceHost(inlineHostName(service, port), service, port, addresses, scope),
    ).finish();
    return made.byScope[scope];
  };

  const table = (snapshot: Snapshot, port: number, services: readonly HttpService[], namespace: string): EncodedResource => {
    const key = `${port}/${services.some(({ service }) => service.namespace === namespace) ? namespace : ''}`;
    const parts = [
      ...services.map((service) => hostOf(service, port, hostScope(service.service, namespace))),
      unknownHost(snapshot.mesh),
    ];
    const cached = tables.get(key);
    if (cached !== undefined && cached.parts.length === parts.length && cached.parts.every((part, at) => part === parts[at])) {
      return cached.resource;
    }
    const resource = encoder.resource(String(port), encodeRouteTable(String(port), parts, 'inline'), cached?.resource);
    tables.set(key, { parts, resource });
    return resource;
  };

  return createNamespaceSets(encoder, {
    resources: (snapshot, plan, namespace) =>
      [...plan.http].map(([port, services]) => table(snapshot, port, services, namespace)),
    prune: (plan) => {
      for (const key of tables.keys()) {
        const [port, namespace = ''] = key.split('/', 2);
        if (!plan.http.has(Number(port)) || (namespace !== '' && !plan.httpNamespaces.has(namespace))) tables.delete(key);
      }
    },
  });
}

/** The route tables whose virtual hosts are resources of their own: they change with the mesh configuration only. */
export function createOpenRouteStage(encoder: Encoder): (mesh: MeshConfig, plan: OutboundPlan) => ResourceSet {
  const unknownHost = createUnknownHosts();
  let last: { readonly mesh: MeshConfig; readonly plan: OutboundPlan; readonly set: ResourceSet } | undefined;

  return (mesh, plan) => {
    if (last?.mesh === mesh && last.plan === plan) return last.set;
    const before = last;
    const resources = [...plan.http.keys()].map((port): EncodedResource => {
      const known = before?.set.resources.get(String(port));
      if (known !== undefined && before?.mesh === mesh) return known;
      return encoder.resource(String(port), encodeRouteTable(String(port), [unknownHost(mesh)], 'delivered'), known);
    });
    last = { mesh, plan, set: encoder.set(resources, before?.set) };
    return last.set;
  };
}

function createUnknownHosts(): (mesh: MeshConfig) => Uint8Array {
  const hosts = new WeakMap<MeshConfig, Uint8Array>();
  return (mesh) => {
    const host = hosts.get(mesh) ?? VirtualHost.encode(buildUnknownHost(mesh)).finish();
    hosts.set(mesh, host);
    return host;
  };
}
