/** The bootstrap's part about discovery: where the proxy gets its configuration, over what, and whom it trusts for it. */

import { clusterOf, endpoint, http2, type Json, seconds, TYPE } from './bootstrap-parts.ts';
import type { ProxyConfig } from './config.ts';

const GRPC_CLUSTER = 'xds-grpc';
const REST_CLUSTER = 'xds-rest';
const SECRETS_CLUSTER = 'sds-grpc';
/** For one poll; a discovery that is slower than this is asked again. */
const POLL_TIMEOUT = '5s';

export function dynamicResources({ discovery }: ProxyConfig): Json {
  // The proxy waits for its first configuration however long discovery takes: serving without it would serve wrongly.
  const common: { readonly [name: string]: Json } = { resource_api_version: 'V3', initial_fetch_timeout: '0s' };
  switch (discovery.protocol) {
    case 'grpc': {
      const overAds: Json = { ads: {}, ...common };
      return { lds_config: overAds, cds_config: overAds, ads_config: adsConfig() };
    }
    case 'rest': {
      const polled: Json = {
        api_config_source: {
          api_type: 'REST',
          transport_api_version: 'V3',
          cluster_names: [REST_CLUSTER],
          refresh_delay: seconds(discovery.refreshDelay),
          request_timeout: POLL_TIMEOUT,
        },
        ...common,
      };
      return { lds_config: polled, cds_config: polled };
    }
  }
}

function adsConfig(): Json {
  return {
    api_type: 'DELTA_GRPC',
    transport_api_version: 'V3',
    set_node_on_first_message_only: true,
    grpc_services: [
      {
        envoy_grpc: {
          cluster_name: GRPC_CLUSTER,
          // Envoy waits a random time within the doubling interval, so that a restarted control plane is not overrun.
          retry_policy: { retry_back_off: { base_interval: '0.5s', max_interval: '10s' } },
        },
      },
    ],
  };
}

export function discoveryCluster({ discovery, connectTimeout }: ProxyConfig): Json {
  const common = {
    connect_timeout: seconds(connectTimeout),
    upstream_connection_options: { tcp_keepalive: { keepalive_time: 60, keepalive_interval: 15, keepalive_probes: 4 } },
  };
  switch (discovery.protocol) {
    case 'grpc':
      return {
        ...clusterOf(GRPC_CLUSTER, discovery.address),
        ...common,
        typed_extension_protocol_options: http2({ connection_keepalive: { interval: '30s', timeout: '20s' } }),
        ...transportSecurity(discovery.serverId, 'h2'),
      };
    case 'rest':
      return { ...clusterOf(REST_CLUSTER, discovery.address), ...common, ...transportSecurity(discovery.serverId, 'http/1.1') };
  }
}

/** Mutual TLS with the workload's own certificate, to a server of exactly this identity; none for a link without one. */
function transportSecurity(serverId: string | undefined, protocol: string): { readonly [name: string]: Json } {
  if (serverId === undefined) return {};
  return {
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: {
        '@type': `${TYPE}.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
        common_tls_context: {
          alpn_protocols: [protocol],
          tls_params: { tls_minimum_protocol_version: 'TLSv1_2' },
          tls_certificate_sds_secret_configs: [secret('default')],
          combined_validation_context: {
            default_validation_context: {
              match_typed_subject_alt_names: [{ san_type: 'URI', matcher: { exact: serverId } }],
            },
            validation_context_sds_secret_config: secret('ROOTCA'),
          },
        },
      },
    },
  };
}

function secret(name: string): Json {
  return {
    name,
    sds_config: {
      api_config_source: {
        api_type: 'GRPC',
        transport_api_version: 'V3',
        grpc_services: [{ envoy_grpc: { cluster_name: SECRETS_CLUSTER } }],
      },
      resource_api_version: 'V3',
      initial_fetch_timeout: '0s',
    },
  };
}

/** The agent's Unix socket, which keys and certificates come from. */
export function secretsCluster(config: ProxyConfig): Json {
  return {
    name: SECRETS_CLUSTER,
    type: 'STATIC',
    connect_timeout: '1s',
    load_assignment: endpoint(SECRETS_CLUSTER, { pipe: { path: config.sdsSocket } }),
    typed_extension_protocol_options: http2({}),
  };
}
