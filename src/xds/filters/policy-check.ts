import { ApiVersion } from '#gen/envoy/config/core/v3/config_source.ts';
import { Filter } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { ExtAuthz } from '#gen/envoy/extensions/filters/http/ext_authz/v3/ext_authz.ts';
import { ExtAuthz as NetworkExtAuthz } from '#gen/envoy/extensions/filters/network/ext_authz/v3/ext_authz.ts';
import { HttpFilter } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { StatusCode } from '#gen/envoy/type/v3/http_status.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { checkServer, checkService, type Destination } from '../mixs.ts';
import { pack } from '../resource.ts';

/** Claims of tokens that jwt_authn has verified. */
const TOKENS = 'envoy.filters.http.jwt_authn';

/** Where the node's metadata has the labels of the pod. */
const LABELS = 'LABELS';

/** Asks mixs about each request; none where the mesh names nobody to ask. Behind authentication, so that what is asked about is proved. */
export function httpPolicyCheck(mesh: MeshConfig, destination: Destination | undefined): HttpFilter[] {
  const server = checkServer(mesh, destination);
  if (server === undefined || destination === undefined) return [];
  const config = ExtAuthz.fromPartial({
    services: { $case: 'grpcService', grpcService: checkService(server, destination) },
    transportApiVersion: ApiVersion.V3,
    failureModeAllow: mesh.policyCheckFailOpen,
    // The request is as good as any; it is the mesh that cannot say so.
    statusOnError: { code: StatusCode.ServiceUnavailable },
    validateMutations: true,
    metadataContextNamespaces: [TOKENS],
    includeTlsSession: true,
    bootstrapMetadataLabelsKey: LABELS,
  });
  return [
    HttpFilter.fromPartial({
      name: 'envoy.filters.http.ext_authz',
      configType: {
        $case: 'typedConfig',
        typedConfig: pack('envoy.extensions.filters.http.ext_authz.v3.ExtAuthz', ExtAuthz, config),
      },
    }),
  ];
}

/** Asks mixs about each connection, when its first bytes come; one that is refused is closed. */
export function tcpPolicyCheck(mesh: MeshConfig, destination: Destination | undefined, statPrefix: string): Filter[] {
  const server = checkServer(mesh, destination);
  if (server === undefined || destination === undefined) return [];
  const config = NetworkExtAuthz.fromPartial({
    statPrefix,
    grpcService: checkService(server, destination),
    transportApiVersion: ApiVersion.V3,
    failureModeAllow: mesh.policyCheckFailOpen,
    includeTlsSession: true,
    bootstrapMetadataLabelsKey: LABELS,
  });
  return [
    Filter.fromPartial({
      name: 'envoy.filters.network.ext_authz',
      configType: {
        $case: 'typedConfig',
        typedConfig: pack('envoy.extensions.filters.network.ext_authz.v3.ExtAuthz', NetworkExtAuthz, config),
      },
    }),
  ];
}
