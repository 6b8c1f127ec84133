import type { AccessLog } from '#gen/envoy/config/accesslog/v3/accesslog.ts';
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

export interface TcpOptions {
  /** Metadata of the one endpoint that is meant. */
  readonly subset?: SubsetMatch | undefined;
  /** Logs beside that of the mesh configuration. */
  readonly reports?: readonly AccessLog[];
}

/** Passes bytes on to a cluster. */
export function tcpProxy(mesh: MeshConfig, statPrefix: string, cluster: string, options: TcpOptions = {}): Filter {
  const { subset, reports = [] } = options;
  const config = TcpProxy.fromPartial({
    statPrefix,
    clusterSpecifier: { $case: 'cluster', cluster },
    idleTimeout: IDLE,
    accessLog: [...accessLog(mesh), ...reports],
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
