/** Attributes of a request or connection that is over, from an entry of Envoy's access log. */

import { type RequestMethod, requestMethodToJSON } from '#gen/envoy/config/core/v3/base.ts';
import type {
  AccessLogCommon,
  HTTPAccessLogEntry,
  HTTPRequestProperties,
  HTTPResponseProperties,
  TCPAccessLogEntry,
  TLSProperties_CertificateProperties,
} from '#gen/envoy/data/accesslog/v3/accesslog.ts';
import { REPORTER_METADATA } from '../../model/reporter.ts';
import { AttributeMap } from './attribute-map.ts';
import { addDestination, addServiceOfCluster } from './destination.ts';
import { addNode } from './reporter-node.ts';
import { addPath, httpProtocol } from './request-attributes.ts';
import { flagsText } from './response-flags.ts';
import { addToken } from './token-attributes.ts';

/** Who reports: the proxy of a stream. */
export interface Reporter {
  /** The gRPC metadata of its stream. */
  readonly metadata: ReadonlyMap<string, string>;
  /** `sidecar~<ip>~<pod>.<namespace>~<domain>`; empty when it did not say. */
  readonly nodeId: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly serviceAccount: string;
}

export function attributesOfHttp(entry: HTTPAccessLogEntry, reporter: Reporter): AttributeMap {
  const { commonProperties: common, request, response } = entry;
  const attributes = commonAttributes(common, reporter, request?.authority);
  if (request !== undefined) addRequest(attributes, request);
  if (response !== undefined) addResponse(attributes, response);
  attributes.span('response.duration', common?.timeToLastDownstreamTxByte ?? common?.duration);
  attributes.time('response.time', later(common?.startTime, common?.timeToFirstUpstreamRxByte));
  const contentType = response?.responseHeaders['content-type'] ?? request?.requestHeaders['content-type'];
  addProtocol(attributes, httpProtocol(contentType));
  return attributes;
}

export function attributesOfTcp(
  { commonProperties: common, connectionProperties }: TCPAccessLogEntry,
  reporter: Reporter,
): AttributeMap {
  const attributes = commonAttributes(common, reporter, undefined);
  const { receivedBytes, sentBytes } = connectionProperties ?? {};
  for (const suffix of ['', '_total']) {
    attributes.count(`connection.received.bytes${suffix}`, receivedBytes);
    attributes.count(`connection.sent.bytes${suffix}`, sentBytes);
  }
  attributes.span('connection.duration', common?.duration ?? common?.timeToLastDownstreamTxByte);
  attributes.text('connection.id', common?.streamId);
  attributes.text('connection.event', common?.intermediateLogEntry === true ? 'continue' : 'close');
  addProtocol(attributes, 'tcp');
  return attributes;
}

function commonAttributes(common: AccessLogCommon | undefined, reporter: Reporter, host: string | undefined): AttributeMap {
  const attributes = new AttributeMap();
  // Unlike the other one, the address of who connected cannot be chosen by a header.
  attributes.address('source', common?.downstreamDirectRemoteAddress ?? common?.downstreamRemoteAddress);
  if (reporter.metadata.get(REPORTER_METADATA.kind) === 'outbound') addOutbound(attributes, common, reporter);
  else addInbound(attributes, common, reporter);
  attributes.text('connection.requested_server_name', common?.tlsProperties?.tlsSniHostname);
  attributes.text('response.flags', flagsText(common?.responseFlags));
  attributes.text('context.proxy_error_code', flagsText(common?.responseFlags));
  attributes.time('request.time', common?.startTime);
  const end = later(common?.startTime, common?.duration ?? common?.timeToLastDownstreamTxByte);
  attributes.time('context.time', end);
  attributes.time('context.timestamp', end);
  addDestination(attributes, reporter.metadata, host);
  addToken(attributes, common?.metadata?.filterMetadata);
  addDecision(attributes, common?.metadata?.filterMetadata);
  return attributes;
}

/** The reporter is the destination, whose certificate both ends have seen. */
function addInbound(attributes: AttributeMap, common: AccessLogCommon | undefined, reporter: Reporter): void {
  addNode(attributes, 'destination', reporter.nodeId);
  attributes.map('destination.labels', reporter.labels);
  attributes.address('destination', common?.downstreamLocalAddress);
  const tls = common?.tlsProperties;
  const client = identityOf(tls?.peerCertificateProperties);
  attributes.principal('source', client);
  attributes.principal('destination', identityOf(tls?.localCertificateProperties));
  attributes.flag('connection.mtls', client !== undefined);
}

/** The reporter is the source; what Envoy chose for the call is the destination. Of the session with it the log says nothing. */
function addOutbound(attributes: AttributeMap, common: AccessLogCommon | undefined, reporter: Reporter): void {
  addNode(attributes, 'source', reporter.nodeId);
  attributes.map('source.labels', reporter.labels);
  attributes.text('source.serviceAccount', reporter.serviceAccount);
  attributes.address('destination', common?.upstreamRemoteAddress);
  addServiceOfCluster(attributes, common?.upstreamCluster ?? '');
}

/** What the check before the request decided, as Check left it in the proxy's metadata. */
function addDecision(
  attributes: AttributeMap,
  metadata: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>> | undefined,
): void {
  const decision = metadata?.['envoy.filters.http.ext_authz'] ?? metadata?.['envoy.filters.network.ext_authz'];
  const { code, message } = decision ?? {};
  if (typeof code === 'number') attributes.count('check.error_code', code);
  if (typeof message === 'string') attributes.text('check.error_message', message);
}

function addRequest(attributes: AttributeMap, request: HTTPRequestProperties): void {
  const { requestHeaders: headers } = request;
  const method = methodText(request.requestMethod);
  attributes.text('request.method', method);
  attributes.text('request.scheme', request.scheme);
  attributes.text('request.host', request.authority);
  attributes.text('request.id', request.requestId);
  attributes.text('request.useragent', request.userAgent);
  attributes.text('request.referer', request.referer);
  attributes.count('request.size', request.requestBodyBytes);
  attributes.count('request.total_size', request.requestBodyBytes + request.requestHeadersBytes);
  const known = { ':authority': request.authority, ':method': method, 'user-agent': request.userAgent, referer: request.referer };
  const all = { 'x-request-id': request.requestId, 'x-forwarded-for': request.forwardedFor, ...known, ...headers };
  attributes.map('request.headers', new Map(Object.entries(all).filter(([, value]) => value !== '')));
  addPath(attributes, request.originalPath === '' ? request.path : request.originalPath, headers);
}

function addResponse(attributes: AttributeMap, response: HTTPResponseProperties): void {
  const { responseHeaders: headers, responseTrailers: trailers } = response;
  attributes.count('response.code', response.responseCode);
  attributes.count('response.size', response.responseBodyBytes);
  attributes.count('response.total_size', response.responseBodyBytes + response.responseHeadersBytes);
  attributes.map('response.headers', new Map(Object.entries(headers)));
  // A response without a body has its trailers among the headers.
  attributes.text('response.grpc_status', trailers['grpc-status'] ?? headers['grpc-status']);
  attributes.text('response.grpc_message', trailers['grpc-message'] ?? headers['grpc-message']);
}

function addProtocol(attributes: AttributeMap, protocol: string): void {
  attributes.text('context.protocol', protocol);
  attributes.text('api.protocol', protocol);
}

function methodText(method: RequestMethod): string {
  const text = requestMethodToJSON(method);
  return text === 'METHOD_UNSPECIFIED' || text === 'UNRECOGNIZED' ? '' : text;
}

function identityOf(certificate: TLSProperties_CertificateProperties | undefined): string | undefined {
  const names = certificate?.subjectAltName ?? [];
  return names.flatMap(({ san }) => (san?.$case === 'uri' && san.uri !== '' ? [san.uri] : []))[0];
}

function later(
  start: Date | undefined,
  span: { readonly seconds: number; readonly nanos: number } | undefined,
): Date | undefined {
  if (start === undefined || span === undefined) return start;
  return new Date(start.getTime() + span.seconds * 1000 + span.nanos / 1e6);
}
