import type { AccessLog } from '#gen/envoy/config/accesslog/v3/accesslog.ts';
import { Filter } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { RouteConfiguration } from '#gen/envoy/config/route/v3/route.ts';
import type { VirtualHost } from '#gen/envoy/config/route/v3/route_components.ts';
import {
  HttpConnectionManager,
  HttpConnectionManager_CodecType,
  HttpConnectionManager_ForwardClientCertDetails,
  HttpConnectionManager_PathWithEscapedSlashesAction,
  HttpConnectionManager_ServerHeaderTransformation,
  type HttpFilter,
} from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { ADS } from '../config-source.ts';
import { OFF } from '../duration.ts';
import { pack } from '../resource.ts';
import { accessLog } from './access-log.ts';
import { tracing } from './tracing.ts';

/** Where requests go: a route table that is delivered on its own, or one virtual host on the spot. */
export type Routing =
  | { readonly type: 'delivered'; readonly name: string }
  | { readonly type: 'inline'; readonly host: VirtualHost };

export interface HttpOptions {
  readonly statPrefix: string;
  readonly routing: Routing;
  /** In order; the router comes last. */
  readonly filters: readonly HttpFilter[];
  readonly direction: 'inbound' | 'outbound';
  /** Logs beside that of the mesh configuration. */
  readonly reports?: readonly AccessLog[];
  /** Something is decided by the path, so there must be one spelling of it. */
  readonly strictPaths: boolean;
}

/** The HTTP proxy of a listener. It is to be invisible: no time limits, server header or version of its own. */
export function httpConnectionManager(mesh: MeshConfig, options: HttpOptions): Filter {
  const traced = tracing(mesh);
  const config = HttpConnectionManager.fromPartial({
    codecType: HttpConnectionManager_CodecType.AUTO,
    statPrefix: options.statPrefix,
    routeSpecifier: routeSpecifier(options.routing),
    httpFilters: [...options.filters],
    httpProtocolOptions: { acceptHttp10: true },
    serverHeaderTransformation: HttpConnectionManager_ServerHeaderTransformation.PASS_THROUGH,
    streamIdleTimeout: OFF,
    accessLog: [...accessLog(mesh), ...(options.reports ?? [])],
    ...(traced === undefined ? {} : { tracing: traced }),
    upgradeConfigs: [{ upgradeType: 'websocket' }],
    ...optionsOf(options.direction),
    ...(options.strictPaths ? STRICT_PATHS : {}),
  });
  return Filter.fromPartial({
    name: 'envoy.filters.network.http_connection_manager',
    configType: {
      $case: 'typedConfig',
      typedConfig: pack(
        'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
        HttpConnectionManager,
        config,
      ),
    },
  });
}

const STRICT_PATHS = {
  mergeSlashes: true,
  pathWithEscapedSlashesAction: HttpConnectionManager_PathWithEscapedSlashesAction.UNESCAPE_AND_FORWARD,
} as const;

/**
 * Inbound: applications may believe x-forwarded-client-cert: what a client sent is dropped, what the handshake proved is set. And they get
 * paths in the normal form of RFC 3986, section 6, as policies match them.
 */
function optionsOf(direction: HttpOptions['direction']): Partial<HttpConnectionManager> {
  // A resolver's fully qualified name, `httpbin.foo.svc.cluster.local.`, is the same host.
  if (direction === 'outbound') return { stripTrailingHostDot: true };
  return {
    forwardClientCertDetails: HttpConnectionManager_ForwardClientCertDetails.SANITIZE_SET,
    normalizePath: true,
    setCurrentClientCertDetails: { subject: undefined, cert: false, chain: false, dns: false, uri: true },
  };
}

function routeSpecifier(routing: Routing): HttpConnectionManager['routeSpecifier'] {
  if (routing.type === 'delivered') return { $case: 'rds', rds: { configSource: ADS, routeConfigName: routing.name } };
  const { host } = routing;
  return {
    $case: 'routeConfig',
    routeConfig: RouteConfiguration.fromPartial({ name: host.name, virtualHosts: [host], validateClusters: false }),
  };
}
