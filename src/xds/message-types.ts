/** The messages that stand in resources of ours, by their names: what it takes to read and write them as JSON. */
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
import { Lua } from '#gen/envoy/extensions/filters/http/lua/v3/lua.ts';
import { OnDemand } from '#gen/envoy/extensions/filters/http/on_demand/v3/on_demand.ts';
import { RBAC } from '#gen/envoy/extensions/filters/http/rbac/v3/rbac.ts';
import { Router } from '#gen/envoy/extensions/filters/http/router/v3/router.ts';
import { OriginalDst } from '#gen/envoy/extensions/filters/listener/original_dst/v3/original_dst.ts';
import { TlsInspector } from '#gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector.ts';
import { ExtAuthz as NetworkExtAuthz } from '#gen/envoy/extensions/filters/network/ext_authz/v3/ext_authz.ts';
import { HttpConnectionManager } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { RBAC as NetworkRBAC } from '#gen/envoy/extensions/filters/network/rbac/v3/rbac.ts';
import { TcpProxy } from '#gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy.ts';
import { RawBuffer } from '#gen/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer.ts';
import { DownstreamTlsContext, UpstreamTlsContext } from '#gen/envoy/extensions/transport_sockets/tls/v3/tls.ts';
import { HttpProtocolOptions } from '#gen/envoy/extensions/upstreams/http/v3/http_protocol_options.ts';

/** What ts-proto generates for a message. */
export interface Codec<T> {
  decode(bytes: Uint8Array): T;
  encode(message: T): { finish(): Uint8Array };
  toJSON(message: T): unknown;
  fromJSON(json: unknown): T;
}

/** A message type, erased to what its users may do with it. */
export interface MessageType {
  /** The message and its JSON, in which an Any and a Duration still have generated code's own form. */
  read(bytes: Uint8Array): { readonly message: object; readonly json: unknown };
  /** `complete` is given the message that was read from the JSON, to put right what generated code does not read. */
  write(json: unknown, complete: (message: object) => void): Uint8Array;
}

function messageType<T extends object>(codec: Codec<T>): MessageType {
  return {
    read(bytes) {
      const message = codec.decode(bytes);
      return { message, json: codec.toJSON(message) };
    },
    write(json, complete) {
      const message = codec.fromJSON(json);
      complete(message);
      return codec.encode(message).finish();
    },
  };
}

const EXTENSIONS = 'envoy.extensions';

const MESSAGE_TYPES: ReadonlyMap<string, MessageType> = new Map<string, MessageType>([
  ['envoy.config.cluster.v3.Cluster', messageType(Cluster)],
  ['envoy.config.endpoint.v3.ClusterLoadAssignment', messageType(ClusterLoadAssignment)],
  ['envoy.config.listener.v3.Listener', messageType(Listener)],
  ['envoy.config.route.v3.RouteConfiguration', messageType(RouteConfiguration)],
  ['envoy.config.route.v3.VirtualHost', messageType(VirtualHost)],
  ['envoy.config.trace.v3.ZipkinConfig', messageType(ZipkinConfig)],
  [`${EXTENSIONS}.access_loggers.file.v3.FileAccessLog`, messageType(FileAccessLog)],
  [`${EXTENSIONS}.access_loggers.grpc.v3.HttpGrpcAccessLogConfig`, messageType(HttpGrpcAccessLogConfig)],
  [`${EXTENSIONS}.access_loggers.grpc.v3.TcpGrpcAccessLogConfig`, messageType(TcpGrpcAccessLogConfig)],
  [`${EXTENSIONS}.access_loggers.stream.v3.StderrAccessLog`, messageType(StderrAccessLog)],
  [`${EXTENSIONS}.access_loggers.stream.v3.StdoutAccessLog`, messageType(StdoutAccessLog)],
  [`${EXTENSIONS}.filters.http.ext_authz.v3.ExtAuthz`, messageType(ExtAuthz)],
  [`${EXTENSIONS}.filters.http.jwt_authn.v3.JwtAuthentication`, messageType(JwtAuthentication)],
  [`${EXTENSIONS}.filters.http.lua.v3.Lua`, messageType(Lua)],
  [`${EXTENSIONS}.filters.http.on_demand.v3.OnDemand`, messageType(OnDemand)],
  [`${EXTENSIONS}.filters.http.rbac.v3.RBAC`, messageType(RBAC)],
  [`${EXTENSIONS}.filters.http.router.v3.Router`, messageType(Router)],
  [`${EXTENSIONS}.filters.listener.original_dst.v3.OriginalDst`, messageType(OriginalDst)],
  [`${EXTENSIONS}.filters.listener.tls_inspector.v3.TlsInspector`, messageType(TlsInspector)],
  [`${EXTENSIONS}.filters.network.ext_authz.v3.ExtAuthz`, messageType(NetworkExtAuthz)],
  [`${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`, messageType(HttpConnectionManager)],
  [`${EXTENSIONS}.filters.network.rbac.v3.RBAC`, messageType(NetworkRBAC)],
  [`${EXTENSIONS}.filters.network.tcp_proxy.v3.TcpProxy`, messageType(TcpProxy)],
  [`${EXTENSIONS}.transport_sockets.raw_buffer.v3.RawBuffer`, messageType(RawBuffer)],
  [`${EXTENSIONS}.transport_sockets.tls.v3.DownstreamTlsContext`, messageType(DownstreamTlsContext)],
  [`${EXTENSIONS}.transport_sockets.tls.v3.UpstreamTlsContext`, messageType(UpstreamTlsContext)],
  [`${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`, messageType(HttpProtocolOptions)],
]);

const PREFIX = 'type.googleapis.com/';

/** The type of a `@type`; undefined for one that is not known. */
export function messageTypeOf(typeUrl: string): MessageType | undefined {
  return typeUrl.startsWith(PREFIX) ? MESSAGE_TYPES.get(typeUrl.slice(PREFIX.length)) : undefined;
}
