import { CircuitBreakers } from '#gen/envoy/config/cluster/v3/circuit_breaker.ts';
import {
  Cluster,
  Cluster_DiscoveryType,
  Cluster_DnsLookupFamily,
  Cluster_LbPolicy,
  Cluster_LbSubsetConfig_LbSubsetFallbackPolicy,
  type Cluster_TransportSocketMatch,
} from '#gen/envoy/config/cluster/v3/cluster.ts';
import type { BindConfig } from '#gen/envoy/config/core/v3/address.ts';
import { HttpProtocolOptions } from '#gen/envoy/extensions/upstreams/http/v3/http_protocol_options.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import { isHttp, type Protocol } from '../model/protocol.ts';
import { isHeadless, type Service, type ServicePort } from '../model/service.ts';
import { socketAddress, tcpAddress } from './address.ts';
import { ADS } from './config-source.ts';
import { protoDuration } from './duration.ts';
import { buildCollectorCluster } from './filters/tracing.ts';
import { isMixsPort } from './mixs.ts';
import {
  BLACK_HOLE,
  INBOUND_PASSTHROUGH,
  inboundCluster,
  outboundCluster,
  PASSTHROUGH,
  SUBSET_KEY,
  serverName,
  TLS_MODE,
} from './names.ts';
import { pack } from './resource.ts';
import { clientTls, RAW_BUFFER } from './tls.ts';

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const UNLIMITED = 0xffff_ffff;

/**
 * A sidecar is not to be the bottleneck, so only retries are bounded: they must not multiply the load of a service in
 * trouble. Outlier detection is off: an application's own 5xx must not take its only endpoint away.
 */
const LIMITS = CircuitBreakers.fromPartial({
  thresholds: [
    {
      maxConnections: UNLIMITED,
      maxPendingRequests: UNLIMITED,
      maxRequests: UNLIMITED,
      retryBudget: { budgetPercent: { value: 20 }, minRetryConcurrency: 10 },
    },
  ],
});

/** Finds dead peers behind silent networks. */
const KEEPALIVE = { tcpKeepalive: { keepaliveTime: 300, keepaliveInterval: 30, keepaliveProbes: 3 } };

const HTTP2 = HttpProtocolOptions.fromPartial({
  upstreamProtocolOptions: {
    $case: 'explicitHttpConfig',
    explicitHttpConfig: { protocolConfig: { $case: 'http2ProtocolOptions', http2ProtocolOptions: {} } },
  },
});

const SAME_AS_DOWNSTREAM = HttpProtocolOptions.fromPartial({
  upstreamProtocolOptions: {
    $case: 'useDownstreamProtocolConfig',
    useDownstreamProtocolConfig: { httpProtocolOptions: {}, http2ProtocolOptions: {} },
  },
});

const protocolOptions = (options: HttpProtocolOptions) => ({ [HTTP_OPTIONS]: pack(HTTP_OPTIONS, HttpProtocolOptions, options) });

/**
 * The cluster of one service port. Endpoints with a sidecar are reached by mutual TLS, the others in plaintext; the
 * server must be one of `identities`, the SPIFFE ids behind the service (sorted; empty: none of them has a sidecar).
 */
export function buildOutboundCluster(
  mesh: MeshConfig,
  service: Service,
  port: ServicePort,
  identities: readonly string[],
): Cluster {
  return Cluster.fromPartial({
    name: outboundCluster(service, port.number),
    clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ADS },
    connectTimeout: protoDuration(mesh.connectTimeout),
    circuitBreakers: LIMITS,
    upstreamConnectionOptions: KEEPALIVE,
    typedExtensionProtocolOptions:
      speaksHttp2(port.protocol) || isMixsPort(mesh, service.hostname, port.number) ? protocolOptions(HTTP2) : {},
    transportSocketMatches: socketMatches(service, port, identities),
    ...(isHeadless(service) ? { lbSubsetConfig: BY_ADDRESS } : {}),
  });
}

/** The cluster of one port of a service that stands for a host outside the mesh: DNS says where it is, and it is reached in plaintext. */
export function buildExternalCluster(mesh: MeshConfig, service: Service, port: ServicePort, host: string): Cluster {
  const clusterName = outboundCluster(service, port.number);
  const endpoint = { hostIdentifier: { $case: 'endpoint', endpoint: { address: tcpAddress(host, port.number) } } } as const;
  return Cluster.fromPartial({
    name: clusterName,
    clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.STRICT_DNS },
    dnsLookupFamily: Cluster_DnsLookupFamily.V4_PREFERRED,
    respectDnsTtl: true,
    loadAssignment: { clusterName, endpoints: [{ lbEndpoints: [endpoint] }] },
    connectTimeout: protoDuration(mesh.connectTimeout),
    circuitBreakers: LIMITS,
    upstreamConnectionOptions: KEEPALIVE,
    typedExtensionProtocolOptions: speaksHttp2(port.protocol) ? protocolOptions(HTTP2) : {},
  });
}

/** The caller of a headless service chose an address itself, and gets that one or nothing. */
const BY_ADDRESS = {
  fallbackPolicy: Cluster_LbSubsetConfig_LbSubsetFallbackPolicy.NO_FALLBACK,
  subsetSelectors: [{ keys: [SUBSET_KEY] }],
};

const speaksHttp2 = (protocol: Protocol): boolean => protocol === 'http2' || protocol === 'grpc';

function applicationProtocol(protocol: Protocol): 'http/1.1' | 'h2' | undefined {
  if (!isHttp(protocol)) return undefined;
  return speaksHttp2(protocol) ? 'h2' : 'http/1.1';
}

function socketMatches(service: Service, port: ServicePort, identities: readonly string[]): Cluster_TransportSocketMatch[] {
  if (identities.length === 0) return [];
  const tls = clientTls(identities, serverName(service, port.number), applicationProtocol(port.protocol));
  return [
    { name: 'mesh', match: { [TLS_MODE.key]: TLS_MODE.value }, transportSocket: tls },
    { name: 'plaintext', match: {}, transportSocket: RAW_BUFFER },
  ];
}

/** The redirection leaves connections from these addresses alone: they are requests on their way to the application. */
const FROM_PROXY: BindConfig = {
  sourceAddress: socketAddress('127.0.0.6', 0),
  extraSourceAddresses: [{ address: socketAddress('::6', 0), socketOptions: undefined }],
  additionalSourceAddresses: [],
  freebind: undefined,
  socketOptions: [],
  localAddressSelector: undefined,
};

/** Leads to the application's own port, at the address the client asked for: the mesh may have come by the proxy's port. */
export function buildInboundCluster(mesh: MeshConfig, port: number): Cluster {
  return Cluster.fromPartial({
    ...originalDestination(mesh, inboundCluster(port), true),
    lbConfig: { $case: 'originalDstLbConfig', originalDstLbConfig: { upstreamPortOverride: port } },
  });
}

/** What is there whatever the services are. */
export function buildFixedClusters(mesh: MeshConfig): readonly Cluster[] {
  return [
    Cluster.fromPartial({
      name: BLACK_HOLE,
      clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.STATIC },
      connectTimeout: protoDuration(mesh.connectTimeout),
    }),
    buildCollectorCluster(mesh),
    originalDestination(mesh, PASSTHROUGH, false),
    originalDestination(mesh, INBOUND_PASSTHROUGH, true),
  ];
}

function originalDestination(mesh: MeshConfig, name: string, inbound: boolean): Cluster {
  return Cluster.fromPartial({
    name,
    clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.ORIGINAL_DST },
    lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED,
    connectTimeout: protoDuration(mesh.connectTimeout),
    circuitBreakers: LIMITS,
    typedExtensionProtocolOptions: protocolOptions(SAME_AS_DOWNSTREAM),
    ...(inbound ? { upstreamBindConfig: FROM_PROXY } : {}),
  });
}
