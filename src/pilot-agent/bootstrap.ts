/**
 * The proxy's bootstrap configuration (envoy.config.bootstrap.v3.Bootstrap, as JSON): who the node is, where discovery
 * and the agent's secrets are. Everything else comes from discovery.
 */
import { discoveryCluster, dynamicResources, secretsCluster } from './bootstrap-discovery.ts';
import { type Json, socketAddress, TYPE } from './bootstrap-parts.ts';
import { statsCluster, statsdSink, statsListener, zipkinCluster } from './bootstrap-telemetry.ts';
import type { ProxyConfig } from './config.ts';
import { STATS_TAGS } from './stats-tags.ts';

const SOL_SOCKET = 1;
const SO_MARK = 36;
/** Leaves descriptors for the other side of each connection within the usual limit of 1,048,576; refusing beats running out. */
const MAX_DOWNSTREAM_CONNECTIONS = 400_000;

export function buildBootstrap(config: ProxyConfig): Json {
  const { statsd, zipkin } = config;
  return {
    node: node(config),
    admin: { address: socketAddress({ host: '127.0.0.1', port: config.adminPort }), ignore_global_conn_limit: true },
    dynamic_resources: dynamicResources(config),
    static_resources: {
      clusters: [
        discoveryCluster(config),
        secretsCluster(config),
        statsCluster(config),
        ...(zipkin === undefined ? [] : [zipkinCluster(zipkin, config)]),
      ],
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
    ...(statsd === undefined ? {} : { stats_sinks: [statsdSink(statsd)] }),
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
