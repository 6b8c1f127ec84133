/** The resource types in the order of delivery, and the services that serve one type each. */
import type { TypeUrl } from './ports.ts';

export const CLUSTER: TypeUrl = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
export const ENDPOINT: TypeUrl = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';
export const LISTENER: TypeUrl = 'type.googleapis.com/envoy.config.listener.v3.Listener';
export const ROUTE: TypeUrl = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';
export const VIRTUAL_HOST: TypeUrl = 'type.googleapis.com/envoy.config.route.v3.VirtualHost';
export const SECRET: TypeUrl = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';

/** Make before break: what is referred to goes before what refers to it. Types that are not listed come last. */
const ORDER: readonly TypeUrl[] = [CLUSTER, ENDPOINT, LISTENER, ROUTE, VIRTUAL_HOST];

/** Position in the order of delivery. */
export function rankOf(typeUrl: TypeUrl): number {
  const at = ORDER.indexOf(typeUrl);
  return at === -1 ? ORDER.length : at;
}

/** Parent and child: what a resource of the one type names is asked for of the other. */
const LEADS_TO: readonly (readonly [parent: TypeUrl, child: TypeUrl])[] = [
  [CLUSTER, ENDPOINT],
  [LISTENER, ROUTE],
  [ROUTE, VIRTUAL_HOST],
];

/** The type that resources of this type make a client ask for. */
export function childOf(typeUrl: TypeUrl): TypeUrl | undefined {
  return LEADS_TO.find(([parent]) => parent === typeUrl)?.[1];
}

/** The type whose resources make a client ask for this one. */
export function parentOf(typeUrl: TypeUrl): TypeUrl | undefined {
  return LEADS_TO.find(([, child]) => child === typeUrl)?.[0];
}

/** Types whose resources are asked for by the collection: all of one parent resource, named `<parent>/...`. */
export function isCollected(typeUrl: TypeUrl): boolean {
  return typeUrl === VIRTUAL_HOST;
}

export interface TypeService {
  readonly typeUrl: TypeUrl;
  readonly sotwPath: string | undefined;
  readonly deltaPath: string;
}

function typeService(typeUrl: TypeUrl, service: string, noun: string): TypeService {
  return { typeUrl, sotwPath: `/${service}/Stream${noun}`, deltaPath: `/${service}/Delta${noun}` };
}

export const TYPE_SERVICES: readonly TypeService[] = [
  typeService(CLUSTER, 'envoy.service.cluster.v3.ClusterDiscoveryService', 'Clusters'),
  typeService(ENDPOINT, 'envoy.service.endpoint.v3.EndpointDiscoveryService', 'Endpoints'),
  typeService(LISTENER, 'envoy.service.listener.v3.ListenerDiscoveryService', 'Listeners'),
  typeService(ROUTE, 'envoy.service.route.v3.RouteDiscoveryService', 'Routes'),
  typeService(SECRET, 'envoy.service.secret.v3.SecretDiscoveryService', 'Secrets'),
  {
    ...typeService(VIRTUAL_HOST, 'envoy.service.route.v3.VirtualHostDiscoveryService', 'VirtualHosts'),
    sotwPath: undefined,
  },
];

const AGGREGATED = 'envoy.service.discovery.v3.AggregatedDiscoveryService';
export const ADS_SOTW_PATH = `/${AGGREGATED}/StreamAggregatedResources`;
export const ADS_DELTA_PATH = `/${AGGREGATED}/DeltaAggregatedResources`;
