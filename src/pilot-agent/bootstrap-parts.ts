/** Pieces of Envoy's configuration (as JSON) that several parts of the bootstrap are made of. */
import { isIP } from 'node:net';
import type { Address } from './address.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Prefix of the type names of Envoy's messages. */
export const TYPE = 'type.googleapis.com/envoy';

/** Where a cluster's only endpoint is found: as it is for an IP address, by DNS for a name. */
export function clusterOf(name: string, address: Address): { readonly [name: string]: Json } {
  return {
    name,
    ...(isIP(address.host) === 0 ? { cluster_type: dnsCluster() } : { type: 'STATIC' }),
    load_assignment: endpoint(name, socketAddress(address)),
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

export function endpoint(cluster: string, address: Json): Json {
  return { cluster_name: cluster, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] };
}

export function http2(options: Json): Json {
  return {
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
      '@type': `${TYPE}.extensions.upstreams.http.v3.HttpProtocolOptions`,
      explicit_http_config: { http2_protocol_options: options },
    },
  };
}

/** A duration as protobuf's JSON has it. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(9).replace(/\.?0+$/, '')}s`;
}

export function socketAddress({ host, port }: Address, ipv4Too = false): Json {
  return { socket_address: { address: host, port_value: port, ...(ipv4Too ? { ipv4_compat: true } : {}) } };
}
