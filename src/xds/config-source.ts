import {
  AggregatedConfigSource,
  ApiConfigSource_ApiType,
  ApiVersion,
  ConfigSource,
} from '#gen/envoy/config/core/v3/config_source.ts';
import { OFF } from './duration.ts';

/** Where proxies get endpoints and routes from: the stream that brought the rest. */
export const ADS: ConfigSource = ConfigSource.fromPartial({
  configSourceSpecifier: { $case: 'ads', ads: AggregatedConfigSource.create() },
  // A proxy waits for what it asked for: it serves the last good configuration meanwhile.
  initialFetchTimeout: OFF,
  resourceApiVersion: ApiVersion.V3,
});

/** Cluster of the bootstrap that leads to the agent's Unix socket. */
const SDS_CLUSTER = 'sds-grpc';

/** Where keys and certificates come from: the agent beside the proxy. */
export const SDS: ConfigSource = ConfigSource.fromPartial({
  configSourceSpecifier: {
    $case: 'apiConfigSource',
    apiConfigSource: {
      apiType: ApiConfigSource_ApiType.GRPC,
      transportApiVersion: ApiVersion.V3,
      grpcServices: [{ targetSpecifier: { $case: 'envoyGrpc', envoyGrpc: { clusterName: SDS_CLUSTER } } }],
      setNodeOnFirstMessageOnly: true,
    },
  },
  initialFetchTimeout: OFF,
  resourceApiVersion: ApiVersion.V3,
});
