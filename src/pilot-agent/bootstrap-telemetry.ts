/** The bootstrap's part about statistics and tracing. */
import { isIP } from 'node:net';
import type { Address } from './address.ts';
import { clusterOf, endpoint, type Json, seconds, socketAddress, TYPE } from './bootstrap-parts.ts';
import type { ProxyConfig } from './config.ts';

const ZIPKIN_CLUSTER = 'zipkin';

export function statsCluster(config: ProxyConfig): Json {
  return {
    name: 'prometheus_stats',
    type: 'STATIC',
    connect_timeout: '0.25s',
    load_assignment: endpoint('prometheus_stats', socketAddress({ host: '127.0.0.1', port: config.adminPort })),
  };
}

/** Gives the admin port's statistics, and nothing else of it, to whoever scrapes the pod. */
export function statsListener(config: ProxyConfig): Json {
  const hasIpv6 = config.addresses.some((address) => isIP(address) === 6);
  return {
    name: 'prometheus_stats',
    address: socketAddress({ host: hasIpv6 ? '::' : '0.0.0.0', port: config.prometheusPort }, hasIpv6),
    ignore_global_conn_limit: true,
    filter_chains: [
      {
        filters: [
          {
            name: 'envoy.filters.network.http_connection_manager',
            typed_config: {
              '@type': `${TYPE}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
              stat_prefix: 'stats',
              normalize_path: true,
              route_config: {
                virtual_hosts: [
                  {
                    name: 'stats',
                    domains: ['*'],
                    routes: [{ match: { path: '/stats/prometheus' }, route: { cluster: 'prometheus_stats' } }],
                  },
                ],
              },
              http_filters: [
                {
                  name: 'envoy.filters.http.router',
                  typed_config: { '@type': `${TYPE}.extensions.filters.http.router.v3.Router` },
                },
              ],
            },
          },
        ],
      },
    ],
  };
}

/** Sends every counter, gauge and timer to a statsd listener over UDP, which loses them quietly when nobody listens. */
export function statsdSink({ host, port }: Address): Json {
  return {
    name: 'envoy.stat_sinks.statsd',
    typed_config: {
      '@type': `${TYPE}.config.metrics.v3.StatsdSink`,
      address: { socket_address: { protocol: 'UDP', address: host, port_value: port } },
    },
  };
}

/** The collector's cluster. The tracer stands in the connection managers, which come from discovery and name this cluster. */
export function zipkinCluster(address: Address, { connectTimeout }: ProxyConfig): Json {
  return { ...clusterOf(ZIPKIN_CLUSTER, address), connect_timeout: seconds(connectTimeout) };
}
