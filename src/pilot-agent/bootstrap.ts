/**
 * The proxy's bootstrap configuration (envoy.config.bootstrap.v3.Bootstrap, as JSON): who the node is, where discovery
 * and the agent's secrets are. Everything else comes from discovery.
 */
import { isIP } from 'node:net';
import type { Address, ProxyConfig } from './config.ts';
import { STATS_TAGS } from './stats-tags.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const SOL_SOCKET = 1;
const SO_MARK = 36;
/** Leaves descriptors for the other side of each connection within the usual limit of 1,048,576; refusing beats running out. */
const MAX_DOWNSTREAM_CONNECTIONS = 400_000;
const TYPE = 'type.googleapis.com/envoy';

export function buildBootstrap(config: ProxyConfig): Json {
  return {
    node: node(config),
    admin: { address: socketAddress({ host: '127.0.0.1', port: config.adminPort }), ignore_global_conn_limit: true },
    dynamic_resources: dynamicResources(),
    static_resources: {
      clusters: [discoveryCluster(config), secretsCluster(config), statsCluster(config)],
      listeners: [statsListener(config)],
    },
    ...(config.proxyMark === 0 ? {} : { cluster_manager: { upstream_bind_config: markedSockets(config.proxyMark) } }),
    layered_runtime: { layers: [{ name: 'admin', admin_layer: {} }] },
    overload_manager: {
      resource_monitors: [
        {
          name: 'envoy.resource_monitors.global_downstream_max_connections',
          typed_config: {
            '@type': `${TYPE}.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig`,
            max_active_downstream_connections: MAX_DOWNSTREAM_CONNECTIONS,
          },
        },
      ],
    },
    stats_config: { use_all_default_tags: false, stats_tags: STATS_TAGS.map((tag): Json => ({ ...tag })) },
  };
}

function node({ node }: ProxyConfig): Json {
  return {
    id: node.id,
    cluster: node.cluster,
    ...(node.zone === '' ? {} : { locality: { zone: node.zone } }),
    metadata: node.metadata,
  };
}

function dynamicResources(): Json {
  // The proxy waits for its first configuration however long discovery takes: serving without it would serve wrongly.
  const overAds: Json = { ads: {}, resource_api_version: 'V3', initial_fetch_timeout: '0s' };
  return {
    lds_config: overAds,
    cds_config: overAds,
    ads_config: {
      api_type: 'DELTA_GRPC',
      transport_api_version: 'V3',
      set_node_on_first_message_only: true,
      grpc_services: [
        {
          envoy_grpc: {
            cluster_name: 'xds-grpc',
            // Envoy waits a random time within the doubling interval, so that a restarted control plane is not overrun.
            retry_policy: { retry_back_off: { base_interval: '0.5s', max_interval: '10s' } },
          },
        },
      ],
    },
  };
}

function discoveryCluster(config: ProxyConfig): Json {
  return {
    name: 'xds-grpc',
    ...(isIP(config.discovery.host) === 0 ? { cluster_type: dnsCluster() } : { type: 'STATIC' }),
    connect_timeout: seconds(config.connectTimeout),
    load_assignment: endpoint('xds-grpc', socketAddress(config.discovery)),
    upstream_connection_options: { tcp_keepalive: { keepalive_time: 60, keepalive_interval: 15, keepalive_probes: 4 } },
    typed_extension_protocol_options: http2({ connection_keepalive: { interval: '30s', timeout: '20s' } }),
  };
}

/** Every address of the name is a place to go to; the addresses known last stay when the name cannot be resolved. */
function dnsCluster(): Json {
  return {
    name: 'envoy.cluster.dns',
    typed_config: {
      '@type': `${TYPE}.extensions.clusters.dns.v3.DnsCluster`,
      dns_lookup_family: 'V4_PREFERRED',
      dns_refresh_rate: '30s',
      dns_failure_refresh_rate: { base_interval: '0.5s', max_interval: '5s' },
    },
  };
}

function secretsCluster(config: ProxyConfig): Json {
  return {
    name: 'sds-grpc',
    type: 'STATIC',
    connect_timeout: '1s',
    load_assignment: endpoint('sds-grpc', { pipe: { path: config.sdsSocket } }),
    typed_extension_protocol_options: http2({}),
  };
}

function statsCluster(config: ProxyConfig): Json {
  return {
    name: 'prometheus_stats',
    type: 'STATIC',
    connect_timeout: '0.25s',
    load_assignment: endpoint('prometheus_stats', socketAddress({ host: '127.0.0.1', port: config.adminPort })),
  };
}

/** Gives the admin port's statistics, and nothing else of it, to whoever scrapes the pod. */
function statsListener(config: ProxyConfig): Json {
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

function markedSockets(mark: number): Json {
  return {
    socket_options: [
      {
        description: 'exempts the proxy from redirection',
        level: SOL_SOCKET,
        name: SO_MARK,
        int_value: mark,
        state: 'STATE_PREBIND',
      },
    ],
  };
}

function endpoint(cluster: string, address: Json): Json {
  return { cluster_name: cluster, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] };
}

function http2(options: Json): Json {
  return {
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
      '@type': `${TYPE}.extensions.upstreams.http.v3.HttpProtocolOptions`,
      explicit_http_config: { http2_protocol_options: options },
    },
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(9).replace(/\.?0+$/, '')}s`;
}

function socketAddress({ host, port }: Address, ipv4Too = false): Json {
  return { socket_address: { address: host, port_value: port, ...(ipv4Too ? { ipv4_compat: true } : {}) } };
}
