/**
 * The resources of a proxy that polls over REST. They come from those of a stream: endpoints inside their clusters, so that a mesh of a thousand
 * services costs such a proxy one request and not a thousand, and routes from the server that is polled for the rest.
 */
import { Cluster, Cluster_DiscoveryType } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { ApiConfigSource_ApiType, ApiVersion, ConfigSource } from '#gen/envoy/config/core/v3/config_source.ts';
import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import type { Filter, FilterChain } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { HttpConnectionManager } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { Any } from '#gen/google/protobuf/any.ts';
import { OFF } from './duration.ts';
import { createEncoder } from './encoder.ts';
import { CLUSTER_TYPE, type EncodedResource, LISTENER_TYPE, pack, type ResourceSet } from './resource.ts';

/** Cluster of the bootstrap that leads to the discovery server's HTTP port. */
const POLLED_CLUSTER = 'xds-rest';

const POLLED: ConfigSource = ConfigSource.fromPartial({
  configSourceSpecifier: {
    $case: 'apiConfigSource',
    apiConfigSource: {
      apiType: ApiConfigSource_ApiType.REST,
      transportApiVersion: ApiVersion.V3,
      clusterNames: [POLLED_CLUSTER],
      refreshDelay: { seconds: 1 },
      requestTimeout: { seconds: 5 },
    },
  },
  initialFetchTimeout: OFF,
  resourceApiVersion: ApiVersion.V3,
});

const HTTP_MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

/** Gives the same object again for the same sets, and builds again only what differs from the time before. */
export interface PolledResources {
  clusters(clusters: ResourceSet, endpoints: ResourceSet): ResourceSet;
  listeners(listeners: ResourceSet): ResourceSet;
}

export function createPolledResources(hash: (bytes: Uint8Array) => string): PolledResources {
  const clusterEncoder = createEncoder(CLUSTER_TYPE, hash);
  const listenerEncoder = createEncoder(LISTENER_TYPE, hash);
  const clusters = new WeakMap<EncodedResource, { readonly from: EncodedResource; readonly made: EncodedResource }>();
  const listeners = new WeakMap<EncodedResource, EncodedResource>();
  const listenerSets = new WeakMap<ResourceSet, ResourceSet>();
  let last: { readonly from: readonly [ResourceSet, ResourceSet]; readonly set: ResourceSet } | undefined;

  const filled = (cluster: EncodedResource, endpoints: EncodedResource | undefined): EncodedResource => {
    if (endpoints === undefined) return cluster;
    const known = clusters.get(cluster);
    if (known?.from === endpoints) return known.made;
    const made = clusterEncoder.resource(cluster.name, withEndpoints(cluster.any, endpoints.any), known?.made);
    clusters.set(cluster, { from: endpoints, made });
    return made;
  };
  const polling = (listener: EncodedResource): EncodedResource => {
    const made = listeners.get(listener) ?? listenerEncoder.resource(listener.name, withPolledRoutes(listener.any));
    listeners.set(listener, made);
    return made;
  };

  return {
    clusters(set, endpoints) {
      if (last?.from[0] === set && last.from[1] === endpoints) return last.set;
      const made = [...set.resources.values()].map((cluster) => filled(cluster, endpoints.resources.get(cluster.name)));
      last = { from: [set, endpoints], set: clusterEncoder.set(made, last?.set) };
      return last.set;
    },
    listeners(set) {
      const known = listenerSets.get(set) ?? listenerEncoder.set([...set.resources.values()].map(polling));
      listenerSets.set(set, known);
      return known;
    },
  };
}

function withEndpoints(cluster: Uint8Array, endpoints: Uint8Array): Uint8Array {
  const message = Cluster.decode(Any.decode(cluster).value);
  message.clusterDiscoveryType = { $case: 'type', type: Cluster_DiscoveryType.STATIC };
  message.edsClusterConfig = undefined;
  message.loadAssignment = ClusterLoadAssignment.decode(Any.decode(endpoints).value);
  return Cluster.encode(message).finish();
}

function withPolledRoutes(listener: Uint8Array): Uint8Array {
  const message = Listener.decode(Any.decode(listener).value);
  message.filterChains = message.filterChains.map(chainWithPolledRoutes);
  if (message.defaultFilterChain !== undefined) message.defaultFilterChain = chainWithPolledRoutes(message.defaultFilterChain);
  return Listener.encode(message).finish();
}

function chainWithPolledRoutes(chain: FilterChain): FilterChain {
  return { ...chain, filters: chain.filters.map(filterWithPolledRoutes) };
}

function filterWithPolledRoutes(filter: Filter): Filter {
  const { configType } = filter;
  if (configType?.$case !== 'typedConfig' || !configType.typedConfig.typeUrl.endsWith(`/${HTTP_MANAGER}`)) return filter;
  const manager = HttpConnectionManager.decode(configType.typedConfig.value);
  if (manager.routeSpecifier?.$case !== 'rds') return filter;
  const rds = { ...manager.routeSpecifier.rds, configSource: POLLED };
  const polling = { ...manager, routeSpecifier: { $case: 'rds', rds } } as const;
  return { ...filter, configType: { $case: 'typedConfig', typedConfig: pack(HTTP_MANAGER, HttpConnectionManager, polling) } };
}
