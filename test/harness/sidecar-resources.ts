import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { ApiConfigSource_ApiType, ApiVersion, ConfigSource } from '#gen/envoy/config/core/v3/config_source.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { Router } from '#gen/envoy/extensions/filters/http/router/v3/router.ts';
import { HttpConnectionManager } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { SdsSecretConfig } from '#gen/envoy/extensions/transport_sockets/tls/v3/secret.ts';
import { DownstreamTlsContext } from '#gen/envoy/extensions/transport_sockets/tls/v3/tls.ts';
import { DEFAULT_MESH_CONFIG, type MeshConfig } from '../../src/model/mesh-config.ts';
import { tracing } from '../../src/xds/filters/tracing.ts';

const TYPE = 'type.googleapis.com/envoy.extensions';

const address = (port: number) =>
  ({
    address: {
      $case: 'socketAddress',
      socketAddress: { address: '127.0.0.1', portSpecifier: { $case: 'portValue', portValue: port } },
    },
  }) as const;

/** A cluster with one endpoint on loopback. */
export function loopbackCluster(name: string, port: number): Cluster {
  return Cluster.fromPartial({
    name,
    connectTimeout: { seconds: 1 },
    loadAssignment: {
      clusterName: name,
      endpoints: [{ lbEndpoints: [{ hostIdentifier: { $case: 'endpoint', endpoint: { address: address(port) } } }] }],
    },
  });
}

/** A listener that demands mutual TLS with the agent's secrets and routes HTTP to a cluster, with tracing as discovery has it for a mesh. */
export function mutualTlsListener(name: string, port: number, cluster: string, mesh: MeshConfig = DEFAULT_MESH_CONFIG): Listener {
  const traced = tracing(mesh);
  const manager = HttpConnectionManager.fromPartial({
    statPrefix: name,
    ...(traced === undefined ? {} : { tracing: traced }),
    routeSpecifier: {
      $case: 'routeConfig',
      routeConfig: {
        virtualHosts: [
          {
            name: 'all',
            domains: ['*'],
            routes: [
              {
                match: { pathSpecifier: { $case: 'prefix', prefix: '/' } },
                action: { $case: 'route', route: { clusterSpecifier: { $case: 'cluster', cluster } } },
              },
            ],
          },
        ],
      },
    },
    httpFilters: [
      {
        name: 'envoy.filters.http.router',
        configType: {
          $case: 'typedConfig',
          typedConfig: {
            typeUrl: `${TYPE}.filters.http.router.v3.Router`,
            value: Router.encode(Router.fromPartial({})).finish(),
          },
        },
      },
    ],
  });
  return Listener.fromPartial({
    name,
    address: address(port),
    filterChains: [
      {
        filters: [
          {
            name: 'envoy.filters.network.http_connection_manager',
            configType: {
              $case: 'typedConfig',
              typedConfig: {
                typeUrl: `${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
                value: HttpConnectionManager.encode(manager).finish(),
              },
            },
          },
        ],
        transportSocket: {
          name: 'envoy.transport_sockets.tls',
          configType: {
            $case: 'typedConfig',
            typedConfig: {
              typeUrl: `${TYPE}.transport_sockets.tls.v3.DownstreamTlsContext`,
              value: DownstreamTlsContext.encode(downstreamTls()).finish(),
            },
          },
        },
      },
    ],
  });
}

function downstreamTls(): DownstreamTlsContext {
  return DownstreamTlsContext.fromPartial({
    requireClientCertificate: true,
    commonTlsContext: {
      tlsCertificateSdsSecretConfigs: [secret('default')],
      validationContextType: { $case: 'validationContextSdsSecretConfig', validationContextSdsSecretConfig: secret('ROOTCA') },
    },
  });
}

function secret(name: string): SdsSecretConfig {
  const source = ConfigSource.fromPartial({
    resourceApiVersion: ApiVersion.V3,
    configSourceSpecifier: {
      $case: 'apiConfigSource',
      apiConfigSource: {
        apiType: ApiConfigSource_ApiType.GRPC,
        transportApiVersion: ApiVersion.V3,
        grpcServices: [{ targetSpecifier: { $case: 'envoyGrpc', envoyGrpc: { clusterName: 'sds-grpc' } } }],
      },
    },
  });
  return SdsSecretConfig.fromPartial({ name, sdsConfig: source });
}
