/** The smallest real resources that take a request through Envoy to an upstream on loopback. */

import type { DeepPartial } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { Cluster, Cluster_DiscoveryType } from '#gen/envoy/config/cluster/v3/cluster.ts';
import type { ConfigSource as EnvoyConfigSource } from '#gen/envoy/config/core/v3/config_source.ts';
import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { RouteConfiguration } from '#gen/envoy/config/route/v3/route.ts';
import { Route, VirtualHost } from '#gen/envoy/config/route/v3/route_components.ts';
import { Router } from '#gen/envoy/extensions/filters/http/router/v3/router.ts';
import { HttpConnectionManager } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import type { EncodedResource } from '../../src/delivery/ports.ts';
import { CLUSTER, ENDPOINT, LISTENER, ROUTE, VIRTUAL_HOST } from '../../src/delivery/types.ts';
import { resource } from '../fakes/config-source.ts';

const FILTERS = 'type.googleapis.com/envoy.extensions.filters';

/** From the same stream, waited for without end: what does not come is missed for certain. */
const ADS: DeepPartial<EnvoyConfigSource> = {
  configSourceSpecifier: { $case: 'ads', ads: {} },
  resourceApiVersion: 2,
  initialFetchTimeout: { seconds: 0 },
};

function loopback(port: number) {
  const socketAddress = { address: '127.0.0.1', portSpecifier: { $case: 'portValue' as const, portValue: port } };
  return { address: { $case: 'socketAddress' as const, socketAddress } };
}

export function edsCluster(name: string, connectTimeoutSeconds: number): EncodedResource {
  const message = Cluster.fromPartial({
    name,
    clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ADS },
    connectTimeout: { seconds: connectTimeoutSeconds },
  });
  return resource(CLUSTER, name, Cluster.encode(message).finish());
}

/** One that Envoy rejects: endpoint discovery without a place to discover from. */
export function badCluster(name: string): EncodedResource {
  const message = Cluster.fromPartial({ name, clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.EDS } });
  return resource(CLUSTER, name, Cluster.encode(message).finish());
}

export function endpoints(cluster: string, port: number): EncodedResource {
  const lbEndpoints = [{ hostIdentifier: { $case: 'endpoint' as const, endpoint: { address: loopback(port) } } }];
  const message = ClusterLoadAssignment.fromPartial({ clusterName: cluster, endpoints: [{ lbEndpoints }] });
  return resource(ENDPOINT, cluster, ClusterLoadAssignment.encode(message).finish());
}

export function httpListener(name: string, port: number, routeName: string, statPrefix: string): EncodedResource {
  const router = { typeUrl: `${FILTERS}.http.router.v3.Router`, value: Router.encode(Router.fromPartial({})).finish() };
  const hcm = HttpConnectionManager.fromPartial({
    statPrefix,
    routeSpecifier: { $case: 'rds', rds: { routeConfigName: routeName, configSource: ADS } },
    httpFilters: [{ name: 'router', configType: { $case: 'typedConfig', typedConfig: router } }],
  });
  const typedConfig = {
    typeUrl: `${FILTERS}.network.http_connection_manager.v3.HttpConnectionManager`,
    value: HttpConnectionManager.encode(hcm).finish(),
  };
  const message = Listener.fromPartial({
    name,
    address: loopback(port),
    filterChains: [{ filters: [{ name: 'http', configType: { $case: 'typedConfig', typedConfig } }] }],
  });
  return resource(LISTENER, name, Listener.encode(message).finish());
}

/** Everything to one cluster; `/mark` is answered by Envoy itself with the mark, which tells the table in force. */
export function routeTo(name: string, cluster: string, mark: string): EncodedResource {
  const body = { specifier: { $case: 'inlineString' as const, inlineString: mark } };
  const marked = Route.fromPartial({
    match: { pathSpecifier: { $case: 'path', path: '/mark' } },
    action: { $case: 'directResponse', directResponse: { status: 200, body } },
  });
  const rest = Route.fromPartial({
    match: { pathSpecifier: { $case: 'prefix', prefix: '/' } },
    action: { $case: 'route', route: { clusterSpecifier: { $case: 'cluster', cluster } } },
  });
  const host = VirtualHost.fromPartial({ name: mark, domains: ['*'] });
  const message = { ...RouteConfiguration.fromPartial({ name }), virtualHosts: [{ ...host, routes: [marked, rest] }] };
  return resource(ROUTE, name, RouteConfiguration.encode(message).finish());
}

/** A table whose virtual hosts are delivered on their own; all other hosts are answered with the mark. */
export function openTable(name: string, mark: string): EncodedResource {
  const host = { name: 'unknown', domains: ['*'], routes: [answerWith(mark)] };
  const message = RouteConfiguration.fromPartial({ name, virtualHosts: [host], vhds: { configSource: ADS } });
  return resource(ROUTE, name, RouteConfiguration.encode(message).finish());
}

/** A virtual host of such a table, which Envoy answers for itself. */
export function openHost(table: string, domain: string, answer: string): EncodedResource {
  const name = `${table}/${domain}`;
  const message = VirtualHost.fromPartial({ name, domains: [domain], routes: [answerWith(answer)] });
  return resource(VIRTUAL_HOST, name, VirtualHost.encode(message).finish());
}

function answerWith(text: string): Route {
  const body = { specifier: { $case: 'inlineString' as const, inlineString: text } };
  return Route.fromPartial({
    match: { pathSpecifier: { $case: 'prefix', prefix: '/' } },
    action: { $case: 'directResponse', directResponse: { status: 200, body } },
  });
}
