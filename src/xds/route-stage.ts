import { VirtualHost } from '#gen/envoy/config/route/v3/route_components.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Encoder } from './encoder.ts';
import type { HttpService, OutboundPlan } from './outbound-plan.ts';
import type { EncodedResource, ResourceSet } from './resource.ts';
import { encodeRouteTable } from './route.ts';
import { buildServiceHost, buildUnknownHost, type HostScope } from './virtual-host.ts';

interface HostBytes {
  readonly addresses: string;
  readonly byScope: Readonly<Record<HostScope, Uint8Array>>;
}

/** What one route table was made from. */
interface CachedTable {
  readonly parts: readonly Uint8Array[];
  readonly resource: EncodedResource;
}

/** The sets handed out for one plan, by namespace; the empty one stands for all without HTTP services. */
interface Answers {
  readonly plan: OutboundPlan;
  readonly mesh: MeshConfig;
  readonly byScope: Map<string, ResourceSet>;
}

/**
 * The route tables, one per HTTP port number, by the namespace of the proxy that asks. Tables differ between namespaces only in
 * the short names, so a namespace without HTTP services on a port shares the table of all those like it.
 */
export function createRouteStage(encoder: Encoder): (snapshot: Snapshot, plan: OutboundPlan, namespace: string) => ResourceSet {
  const hosts = new WeakMap<Service, Map<number, HostBytes>>();
  const unknownHosts = new WeakMap<MeshConfig, Uint8Array>();
  const tables = new Map<string, CachedTable>();
  const sets = new Map<string, ResourceSet>();
  let answers: Answers | undefined;

  const hostOf = ({ service, addresses }: HttpService, port: number): HostBytes => {
    const byPort = hosts.get(service) ?? new Map<number, HostBytes>();
    hosts.set(service, byPort);
    const key = addresses.join(' ');
    const cached = byPort.get(port);
    if (cached?.addresses === key) return cached;
    const encode = (scope: HostScope): Uint8Array =>
      VirtualHost.encode(buildServiceHost(service, port, addresses, scope)).finish();
    const bytes = { addresses: key, byScope: { 'own-namespace': encode('own-namespace'), elsewhere: encode('elsewhere') } };
    byPort.set(port, bytes);
    return bytes;
  };

  const unknownHost = (snapshot: Snapshot): Uint8Array => {
    const cached = unknownHosts.get(snapshot.mesh) ?? VirtualHost.encode(buildUnknownHost(snapshot.mesh)).finish();
    unknownHosts.set(snapshot.mesh, cached);
    return cached;
  };

  const table = (snapshot: Snapshot, port: number, services: readonly HttpService[], namespace: string): EncodedResource => {
    const isLocal = ({ service }: HttpService): boolean => service.namespace === namespace;
    const key = `${port}/${services.some(isLocal) ? namespace : ''}`;
    const parts = [
      ...services.map((service) => hostOf(service, port).byScope[isLocal(service) ? 'own-namespace' : 'elsewhere']),
      unknownHost(snapshot),
    ];
    const cached = tables.get(key);
    if (cached !== undefined && cached.parts.length === parts.length && cached.parts.every((part, at) => part === parts[at])) {
      return cached.resource;
    }
    const resource = encoder.resource(String(port), encodeRouteTable(String(port), parts), cached?.resource);
    tables.set(key, { parts, resource });
    return resource;
  };

  /** Forgets what was kept for ports and namespaces that are gone. */
  const prune = (plan: OutboundPlan): void => {
    for (const key of tables.keys()) {
      const [port, namespace = ''] = key.split('/', 2);
      if (!plan.http.has(Number(port)) || (namespace !== '' && !plan.httpNamespaces.has(namespace))) tables.delete(key);
    }
    for (const scope of sets.keys()) if (scope !== '' && !plan.httpNamespaces.has(scope)) sets.delete(scope);
  };

  return (snapshot, plan, namespace) => {
    if (answers?.plan !== plan || answers.mesh !== snapshot.mesh) {
      answers = { plan, mesh: snapshot.mesh, byScope: new Map() };
      prune(plan);
    }
    const scope = plan.httpNamespaces.has(namespace) ? namespace : '';
    const known = answers.byScope.get(scope);
    if (known !== undefined) return known;
    const resources = [...plan.http].map(([port, services]) => table(snapshot, port, services, scope));
    const built = encoder.set(resources, sets.get(scope));
    sets.set(scope, built);
    answers.byScope.set(scope, built);
    return built;
  };
}
