import { Filter } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { TcpProxy } from '#gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy.ts';
import { seconds } from '../../lib/duration.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { protoDuration } from '../duration.ts';
import { pack } from '../resource.ts';
import type { SubsetMatch } from '../virtual-host.ts';
import { accessLog } from './access-log.ts';

/** Long, because pools of database connections idle for hours; not for ever, because peers vanish. */
const IDLE = protoDuration(seconds(24 * 3_600));

/** Passes bytes on to a cluster, to the endpoint with the given metadata if that is named. */
export function tcpProxy(mesh: MeshConfig, statPrefix: string, cluster: string, subset?: SubsetMatch): Filter {
  const config = TcpProxy.fromPartial({
    statPrefix,
    clusterSpecifier: { $case: 'cluster', cluster },
    idleTimeout: IDLE,
    accessLog: accessLog(mesh),
    ...(subset === undefined ? {} : { metadataMatch: { filterMetadata: { 'envoy.lb': subset } } }),
  });
  return Filter.fromPartial({
    name: 'envoy.filters.network.tcp_proxy',
    configType: {
      $case: 'typedConfig',
      typedConfig: pack('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', TcpProxy, config),
    },
  });
}
