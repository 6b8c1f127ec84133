import { Cluster, Cluster_DiscoveryType, Cluster_DnsLookupFamily } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { ZipkinConfig, ZipkinConfig_CollectorEndpointVersion } from '#gen/envoy/config/trace/v3/zipkin.ts';
import { HttpConnectionManager_Tracing } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { tcpAddress } from '../address.ts';
import { protoDuration } from '../duration.ts';
import { pack } from '../resource.ts';

/** The cluster that leads to the collector. An agent that was given one has it in the bootstrap of its proxy. */
const COLLECTOR_CLUSTER = 'zipkin';

const ZIPKIN = ZipkinConfig.fromPartial({
  collectorCluster: COLLECTOR_CLUSTER,
  collectorEndpoint: '/api/v2/spans',
  collectorEndpointVersion: ZipkinConfig_CollectorEndpointVersion.HTTP_JSON,
  traceId128bit: true,
  // A span of its own for each side of a call, as in every tracing system but the oldest Zipkin.
  sharedSpanContext: false,
});

/** Spans of requests, as many as the mesh asks for, in Zipkin v2 JSON; `undefined`: none. */
export function tracing(mesh: MeshConfig): HttpConnectionManager_Tracing | undefined {
  if (!mesh.enableTracing) return undefined;
  return HttpConnectionManager_Tracing.fromPartial({
    randomSampling: { value: mesh.traceSampling },
    provider: {
      name: 'envoy.tracers.zipkin',
      configType: { $case: 'typedConfig', typedConfig: pack('envoy.config.trace.v3.ZipkinConfig', ZipkinConfig, ZIPKIN) },
    },
  });
}

/**
 * For proxies whose agent named no collector: a connection manager that names a cluster which is not there is refused whole. Where the bootstrap
 * has a cluster of the name Envoy keeps to that; elsewhere the spans go where the mesh configuration says, or nowhere. There before tracing is
 * switched on, so that no proxy hears of the one before the other.
 */
export function buildCollectorCluster(mesh: MeshConfig): Cluster {
  const common = { name: COLLECTOR_CLUSTER, connectTimeout: protoDuration(mesh.connectTimeout) };
  const { traceCollector } = mesh;
  if (traceCollector === undefined) {
    return Cluster.fromPartial({ ...common, clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.STATIC } });
  }
  const { host, port } = traceCollector;
  const endpoint = { hostIdentifier: { $case: 'endpoint', endpoint: { address: tcpAddress(host, port) } } } as const;
  return Cluster.fromPartial({
    ...common,
    clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.STRICT_DNS },
    dnsLookupFamily: Cluster_DnsLookupFamily.V4_PREFERRED,
    loadAssignment: { clusterName: COLLECTOR_CLUSTER, endpoints: [{ lbEndpoints: [endpoint] }] },
  });
}
