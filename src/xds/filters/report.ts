import { AccessLog } from '#gen/envoy/config/accesslog/v3/accesslog.ts';
import { ApiVersion } from '#gen/envoy/config/core/v3/config_source.ts';
import {
  CommonGrpcAccessLogConfig,
  HttpGrpcAccessLogConfig,
  TcpGrpcAccessLogConfig,
} from '#gen/envoy/extensions/access_loggers/grpc/v3/als.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { mixsService, reportServer, type Side } from '../mixs.ts';
import { pack } from '../resource.ts';

const TYPES = 'envoy.extensions.access_loggers.grpc.v3';

/** What of a request's headers goes into reports beside what the log has anyway: what it is, and the trace that it is part of. */
const REQUEST_HEADERS = [
  'content-type',
  'x-api-key',
  'x-b3-traceid',
  'x-b3-spanid',
  'x-b3-parentspanid',
  'x-b3-sampled',
  'traceparent',
];
const RESPONSE_HEADERS = ['content-type', 'grpc-status', 'grpc-message'];
const RESPONSE_TRAILERS = ['grpc-status', 'grpc-message'];

/** Tells mixs what requests came to; none where the mesh names nobody to tell. `undefined`: a side that mixs is not told of. */
export function httpReports(mesh: MeshConfig, side: Side | undefined): AccessLog[] {
  const commonConfig = mesh.disableMixerHttpReports ? undefined : common(mesh, side, 'http');
  if (commonConfig === undefined) return [];
  const config = HttpGrpcAccessLogConfig.fromPartial({
    commonConfig,
    additionalRequestHeadersToLog: REQUEST_HEADERS,
    additionalResponseHeadersToLog: RESPONSE_HEADERS,
    additionalResponseTrailersToLog: RESPONSE_TRAILERS,
  });
  const typedConfig = pack(`${TYPES}.HttpGrpcAccessLogConfig`, HttpGrpcAccessLogConfig, config);
  return [AccessLog.fromPartial({ name: 'envoy.access_loggers.http_grpc', configType: { $case: 'typedConfig', typedConfig } })];
}

/** Tells mixs what connections came to. */
export function tcpReports(mesh: MeshConfig, side: Side | undefined): AccessLog[] {
  const commonConfig = common(mesh, side, 'tcp');
  if (commonConfig === undefined) return [];
  const config = TcpGrpcAccessLogConfig.fromPartial({ commonConfig });
  const typedConfig = pack(`${TYPES}.TcpGrpcAccessLogConfig`, TcpGrpcAccessLogConfig, config);
  return [AccessLog.fromPartial({ name: 'envoy.access_loggers.tcp_grpc', configType: { $case: 'typedConfig', typedConfig } })];
}

function common(mesh: MeshConfig, side: Side | undefined, logName: string): CommonGrpcAccessLogConfig | undefined {
  const server = side === undefined ? undefined : reportServer(mesh, side);
  if (server === undefined || side === undefined) return undefined;
  return CommonGrpcAccessLogConfig.fromPartial({
    logName,
    grpcService: mixsService(server, side),
    transportApiVersion: ApiVersion.V3,
  });
}
