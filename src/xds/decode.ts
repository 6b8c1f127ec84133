/** Reads encoded resources back as JSON (https://protobuf.dev/programming-guides/json/): REST discovery, debug pages, golden files. */
import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { RouteConfiguration } from '#gen/envoy/config/route/v3/route.ts';
import { VirtualHost } from '#gen/envoy/config/route/v3/route_components.ts';
import { FileAccessLog } from '#gen/envoy/extensions/access_loggers/file/v3/file.ts';
import { JwtAuthentication } from '#gen/envoy/extensions/filters/http/jwt_authn/v3/config.ts';
import { Lua } from '#gen/envoy/extensions/filters/http/lua/v3/lua.ts';
import { OnDemand } from '#gen/envoy/extensions/filters/http/on_demand/v3/on_demand.ts';
import { RBAC } from '#gen/envoy/extensions/filters/http/rbac/v3/rbac.ts';
import { Router } from '#gen/envoy/extensions/filters/http/router/v3/router.ts';
import { OriginalDst } from '#gen/envoy/extensions/filters/listener/original_dst/v3/original_dst.ts';
import { TlsInspector } from '#gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector.ts';
import { HttpConnectionManager } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { RBAC as NetworkRBAC } from '#gen/envoy/extensions/filters/network/rbac/v3/rbac.ts';
import { TcpProxy } from '#gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy.ts';
import { RawBuffer } from '#gen/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer.ts';
import { DownstreamTlsContext, UpstreamTlsContext } from '#gen/envoy/extensions/transport_sockets/tls/v3/tls.ts';
import { HttpProtocolOptions } from '#gen/envoy/extensions/upstreams/http/v3/http_protocol_options.ts';
import { Any } from '#gen/google/protobuf/any.ts';
import type { Duration } from '#gen/google/protobuf/duration.ts';

const PREFIX = 'type.googleapis.com/';

/** One message type, erased to what reading it takes. */
type Reader = (bytes: Uint8Array) => unknown;

interface Codec<T> {
  decode(bytes: Uint8Array): T;
  toJSON(message: T): unknown;
}

const reader =
  <T>(codec: Codec<T>): Reader =>
  (bytes) =>
    expand(codec.decode(bytes), codec.toJSON(codec.decode(bytes)));

const EXTENSIONS = 'envoy.extensions';
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['envoy.config.cluster.v3.Cluster', reader(Cluster)],
  ['envoy.config.endpoint.v3.ClusterLoadAssignment', reader(ClusterLoadAssignment)],
  ['envoy.config.listener.v3.Listener', reader(Listener)],
  ['envoy.config.route.v3.RouteConfiguration', reader(RouteConfiguration)],
  ['envoy.config.route.v3.VirtualHost', reader(VirtualHost)],
  [`${EXTENSIONS}.access_loggers.file.v3.FileAccessLog`, reader(FileAccessLog)],
  [`${EXTENSIONS}.filters.http.jwt_authn.v3.JwtAuthentication`, reader(JwtAuthentication)],
  [`${EXTENSIONS}.filters.http.lua.v3.Lua`, reader(Lua)],
  [`${EXTENSIONS}.filters.http.on_demand.v3.OnDemand`, reader(OnDemand)],
  [`${EXTENSIONS}.filters.http.rbac.v3.RBAC`, reader(RBAC)],
  [`${EXTENSIONS}.filters.http.router.v3.Router`, reader(Router)],
  [`${EXTENSIONS}.filters.listener.original_dst.v3.OriginalDst`, reader(OriginalDst)],
  [`${EXTENSIONS}.filters.listener.tls_inspector.v3.TlsInspector`, reader(TlsInspector)],
  [`${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`, reader(HttpConnectionManager)],
  [`${EXTENSIONS}.filters.network.rbac.v3.RBAC`, reader(NetworkRBAC)],
  [`${EXTENSIONS}.filters.network.tcp_proxy.v3.TcpProxy`, reader(TcpProxy)],
  [`${EXTENSIONS}.transport_sockets.raw_buffer.v3.RawBuffer`, reader(RawBuffer)],
  [`${EXTENSIONS}.transport_sockets.tls.v3.DownstreamTlsContext`, reader(DownstreamTlsContext)],
  [`${EXTENSIONS}.transport_sockets.tls.v3.UpstreamTlsContext`, reader(UpstreamTlsContext)],
  [`${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`, reader(HttpProtocolOptions)],
]);

/** The JSON of a google.protobuf.Any, nested ones read too; a type that is not known stays as base64. */
export function decodeResource(any: Uint8Array): unknown {
  return readAny(Any.decode(any));
}

function readAny(any: Any): unknown {
  const read = READERS.get(any.typeUrl.replace(PREFIX, ''));
  return { '@type': any.typeUrl, ...(read === undefined ? { value: Any.toJSON(any) } : Object(read(any.value))) };
}

/** Walks a message beside its JSON, in which generated code leaves what is an Any or a Duration in a form of its own. */
function expand(message: unknown, json: unknown): unknown {
  if (isAny(message)) return readAny(message);
  if (isDuration(message)) return durationText(message);
  if (Array.isArray(json)) return json.map((item, index) => expand(Array.isArray(message) ? message[index] : undefined, item));
  if (typeof json !== 'object' || json === null) return json;
  const fields = Object.entries(json).map(([key, value]) => [key, expand(fieldOf(message, key), value)]);
  return Object.fromEntries(fields);
}

/** A field of a message, be it plain or the case of a oneof (`{ $case: 'typedConfig', typedConfig }`). */
function fieldOf(message: unknown, key: string): unknown {
  if (typeof message !== 'object' || message === null) return undefined;
  const fields = message as Readonly<Record<string, unknown>>;
  if (key in fields) return fields[key];
  for (const value of Object.values(fields)) {
    if (typeof value === 'object' && value !== null && '$case' in value && value.$case === key) return fieldOf(value, key);
  }
  return undefined;
}

function isAny(message: unknown): message is Any {
  return (
    typeof message === 'object' &&
    message !== null &&
    'typeUrl' in message &&
    'value' in message &&
    message.value instanceof Uint8Array
  );
}

function isDuration(message: unknown): message is Duration {
  if (typeof message !== 'object' || message === null || !('seconds' in message) || !('nanos' in message)) return false;
  return Object.keys(message).length === 2 && typeof message.seconds === 'number' && typeof message.nanos === 'number';
}

/** `1.5s`, `0s`, `-0.25s` */
function durationText({ seconds, nanos }: Duration): string {
  const sign = seconds < 0 || nanos < 0 ? '-' : '';
  const fraction = nanos === 0 ? '' : `.${String(Math.abs(nanos)).padStart(9, '0').replace(/0+$/, '')}`;
  return `${sign}${Math.abs(seconds)}${fraction}s`;
}
