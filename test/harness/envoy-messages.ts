import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { RouteConfiguration } from '#gen/envoy/config/route/v3/route.ts';
import { VirtualHost } from '#gen/envoy/config/route/v3/route_components.ts';
import { ZipkinConfig } from '#gen/envoy/config/trace/v3/zipkin.ts';
import { FileAccessLog } from '#gen/envoy/extensions/access_loggers/file/v3/file.ts';
import { HttpGrpcAccessLogConfig, TcpGrpcAccessLogConfig } from '#gen/envoy/extensions/access_loggers/grpc/v3/als.ts';
import { StderrAccessLog, StdoutAccessLog } from '#gen/envoy/extensions/access_loggers/stream/v3/stream.ts';
import { ExtAuthz } from '#gen/envoy/extensions/filters/http/ext_authz/v3/ext_authz.ts';
import { JwtAuthentication } from '#gen/envoy/extensions/filters/http/jwt_authn/v3/config.ts';
import { OnDemand } from '#gen/envoy/extensions/filters/http/on_demand/v3/on_demand.ts';
import { Router } from '#gen/envoy/extensions/filters/http/router/v3/router.ts';
import { OriginalDst } from '#gen/envoy/extensions/filters/listener/original_dst/v3/original_dst.ts';
import { TlsInspector } from '#gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector.ts';
import { ExtAuthz as NetworkExtAuthz } from '#gen/envoy/extensions/filters/network/ext_authz/v3/ext_authz.ts';
import { HttpConnectionManager } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { TcpProxy } from '#gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy.ts';
import { RawBuffer } from '#gen/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer.ts';
import { DownstreamTlsContext, UpstreamTlsContext } from '#gen/envoy/extensions/transport_sockets/tls/v3/tls.ts';
import { HttpProtocolOptions } from '#gen/envoy/extensions/upstreams/http/v3/http_protocol_options.ts';
import { Any } from '#gen/google/protobuf/any.ts';

interface Codec {
  decode(bytes: Uint8Array): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the registry holds codecs of unrelated messages
  toJSON(message: any): unknown;
}

const E = 'type.googleapis.com/envoy.';

/** Every message that may stand in an Any of ours. */
const CODECS: Readonly<Record<string, Codec>> = {
  [`${E}config.cluster.v3.Cluster`]: Cluster,
  [`${E}config.endpoint.v3.ClusterLoadAssignment`]: ClusterLoadAssignment,
  [`${E}config.listener.v3.Listener`]: Listener,
  [`${E}config.route.v3.RouteConfiguration`]: RouteConfiguration,
  [`${E}config.route.v3.VirtualHost`]: VirtualHost,
  [`${E}config.trace.v3.ZipkinConfig`]: ZipkinConfig,
  [`${E}extensions.access_loggers.file.v3.FileAccessLog`]: FileAccessLog,
  [`${E}extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig`]: HttpGrpcAccessLogConfig,
  [`${E}extensions.access_loggers.grpc.v3.TcpGrpcAccessLogConfig`]: TcpGrpcAccessLogConfig,
  [`${E}extensions.access_loggers.stream.v3.StderrAccessLog`]: StderrAccessLog,
  [`${E}extensions.access_loggers.stream.v3.StdoutAccessLog`]: StdoutAccessLog,
  [`${E}extensions.filters.http.ext_authz.v3.ExtAuthz`]: ExtAuthz,
  [`${E}extensions.filters.http.jwt_authn.v3.JwtAuthentication`]: JwtAuthentication,
  [`${E}extensions.filters.http.on_demand.v3.OnDemand`]: OnDemand,
  [`${E}extensions.filters.http.router.v3.Router`]: Router,
  [`${E}extensions.filters.listener.original_dst.v3.OriginalDst`]: OriginalDst,
  [`${E}extensions.filters.listener.tls_inspector.v3.TlsInspector`]: TlsInspector,
  [`${E}extensions.filters.network.ext_authz.v3.ExtAuthz`]: NetworkExtAuthz,
  [`${E}extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`]: HttpConnectionManager,
  [`${E}extensions.filters.network.tcp_proxy.v3.TcpProxy`]: TcpProxy,
  [`${E}extensions.transport_sockets.raw_buffer.v3.RawBuffer`]: RawBuffer,
  [`${E}extensions.transport_sockets.tls.v3.DownstreamTlsContext`]: DownstreamTlsContext,
  [`${E}extensions.transport_sockets.tls.v3.UpstreamTlsContext`]: UpstreamTlsContext,
  [`${E}extensions.upstreams.http.v3.HttpProtocolOptions`]: HttpProtocolOptions,
};

/** A serialised Any as plain data for people, whatever is packed in it unpacked too. */
export function readable(any: Uint8Array): unknown {
  return unpack(Any.decode(any));
}

function unpack(any: Any): unknown {
  const codec = CODECS[any.typeUrl];
  if (codec === undefined) throw new Error(`test/harness/envoy-messages.ts does not know ${any.typeUrl}`);
  return { '@type': any.typeUrl.replace(/^.*\//, ''), ...(expand(codec.toJSON(codec.decode(any.value))) as object) };
}

function expand(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expand);
  if (typeof value !== 'object' || value === null) return value;
  const record = value as Readonly<Record<string, unknown>>;
  if (typeof record['typeUrl'] === 'string') {
    return unpack({ typeUrl: record['typeUrl'], value: Buffer.from(String(record['value'] ?? ''), 'base64') });
  }
  return Object.fromEntries(Object.entries(record).map(([key, inner]) => [key, expand(inner)]));
}
