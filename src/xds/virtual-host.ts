import { Route, VirtualHost } from '#gen/envoy/config/route/v3/route_components.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Service } from '../model/service.ts';
import { OFF } from './duration.ts';
import { outboundCluster, PASSTHROUGH } from './names.ts';
import { RETRY_SAFE, RETRY_UNSENT, SAFE_METHODS } from './retry.ts';

/** How a route chooses one address of a cluster; absent: any. */
export type SubsetMatch = Readonly<Record<string, string>>;

/** Everything goes to one cluster, without a time limit of our own, and is tried again where that is safe. */
export function routesTo(cluster: string, subset?: SubsetMatch): Route[] {
  const action = {
    clusterSpecifier: { $case: 'cluster', cluster },
    timeout: OFF,
    ...(subset === undefined ? {} : { metadataMatch: { filterMetadata: { 'envoy.lb': subset } } }),
  } as const;
  const pathSpecifier = { $case: 'prefix', prefix: '/' } as const;
  return [
    Route.fromPartial({
      match: { pathSpecifier, headers: [SAFE_METHODS] },
      action: { $case: 'route', route: { ...action, retryPolicy: RETRY_SAFE } },
    }),
    Route.fromPartial({ match: { pathSpecifier }, action: { $case: 'route', route: action } }),
  ];
}

/** A virtual host for whatever name was asked for. */
export function catchAllHost(name: string, routes: readonly Route[]): VirtualHost {
  return VirtualHost.fromPartial({ name, domains: ['*'], routes: [...routes], retryPolicy: RETRY_UNSENT });
}

/** Where a virtual host is for: only in a service's own namespace does its bare name mean it. */
export type HostScope = 'own-namespace' | 'elsewhere';

/** What a service is to the proxies of a namespace. */
export const hostScope = (service: Service, namespace: string): HostScope =>
  service.namespace === namespace ? 'own-namespace' : 'elsewhere';

/** Name of a service port's virtual host within a route table. */
export const inlineHostName = (service: Service, port: number): string => `${service.hostname}:${port}`;

/** Its name as a resource of its own: what stands before the last slash is the route table it belongs to. */
export const deliveredHostName = (service: Service, port: number): string => `${port}/${inlineHostName(service, port)}`;

/**
 * The names of one HTTP service port. `addresses` are its virtual addresses; ports are not told apart (the route table ignores
 * them).
 */
export function buildServiceHost(
  name: string,
  service: Service,
  port: number,
  addresses: readonly string[],
  scope: HostScope,
): VirtualHost {
  const qualified = `${service.name}.${service.namespace}`;
  return VirtualHost.fromPartial({
    name,
    domains: [
      service.hostname,
      `${qualified}.svc`,
      qualified,
      ...(scope === 'own-namespace' ? [service.name] : []),
      ...addresses.map(inAuthority),
    ],
    routes: routesTo(outboundCluster(service, port)),
    retryPolicy: RETRY_UNSENT,
  });
}

/** An address as a Host header has it (RFC 3986, section 3.2.2). */
const inAuthority = (address: string): string => (address.includes(':') ? `[${address}]` : address);

const UNKNOWN_HOST =
  'no service of the mesh has this host name and port. To reach it, create a Service for it, leave its addresses out of ' +
  'the redirection (--includeIPRanges), or set outboundTrafficPolicy: ALLOW_ANY in the mesh configuration\n';

/** What becomes of requests to hosts that are no service of the mesh. */
export function buildUnknownHost(mesh: MeshConfig): VirtualHost {
  switch (mesh.outboundTrafficPolicy) {
    case 'ALLOW_ANY':
      return catchAllHost('allow_any', routesTo(PASSTHROUGH));
    case 'REGISTRY_ONLY':
      return VirtualHost.fromPartial({
        name: 'block_all',
        domains: ['*'],
        routes: [directResponse(502, UNKNOWN_HOST)],
      });
  }
}

/** Answers every request at the proxy. */
export function directResponse(status: number, body: string): Route {
  return Route.fromPartial({
    match: { pathSpecifier: { $case: 'prefix', prefix: '/' } },
    action: {
      $case: 'directResponse',
      directResponse: { status, body: { specifier: { $case: 'inlineString', inlineString: body } } },
    },
  });
}
