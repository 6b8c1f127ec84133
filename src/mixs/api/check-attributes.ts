/** Attributes of a request or connection that Envoy asks about before it lets it pass. */
import type { AttributeContext, AttributeContext_HttpRequest } from '#gen/envoy/service/auth/v3/attribute_context.ts';
import { REPORTER_METADATA } from '../../model/reporter.ts';
import type { Vocabulary } from '../../rules/attribute/bag.ts';
import { AttributeMap } from './attribute-map.ts';
import { addDestination } from './destination.ts';
import { addNode } from './reporter-node.ts';
import { addPath, httpProtocol } from './request-attributes.ts';
import { addToken } from './token-attributes.ts';

/** `metadata` is the gRPC call's; `known` says which of the context extensions are attributes. */
export function attributesOfCheck(
  context: AttributeContext,
  metadata: ReadonlyMap<string, string>,
  known: Vocabulary,
): AttributeMap {
  const attributes = new AttributeMap();
  const { source, destination, request, contextExtensions, metadataContext, tlsSession } = context;
  attributes.address('source', source?.address);
  attributes.address('destination', destination?.address);
  attributes.principal('source', source?.principal);
  attributes.principal('destination', destination?.principal);
  attributes.flag('connection.mtls', (source?.principal ?? '') !== '');
  attributes.text('connection.requested_server_name', tlsSession?.sni);
  attributes.map('destination.labels', new Map(Object.entries(destination?.labels ?? {})));
  attributes.time('request.time', request?.time);
  attributes.time('context.time', request?.time);
  attributes.time('context.timestamp', request?.time);
  addNode(attributes, 'destination', metadata.get(REPORTER_METADATA.node) ?? '');
  addDestination(attributes, metadata, request?.http?.host);
  for (const [name, value] of Object.entries(contextExtensions)) {
    if (known.typeOf(name) === 'STRING') attributes.text(name, value);
  }
  addToken(attributes, metadataContext?.filterMetadata);
  if (request?.http === undefined) addProtocol(attributes, 'tcp');
  else addRequest(attributes, request.http);
  return attributes;
}

function addRequest(attributes: AttributeMap, http: AttributeContext_HttpRequest): void {
  const { headers } = http;
  attributes.map('request.headers', new Map(Object.entries(headers)));
  attributes.text('request.id', headers['x-request-id'] ?? http.id);
  attributes.text('request.method', http.method);
  attributes.text('request.host', http.host);
  attributes.text('request.scheme', http.scheme);
  attributes.text('request.useragent', headers['user-agent']);
  attributes.text('request.referer', headers['referer']);
  attributes.count('request.size', http.size);
  addPath(attributes, http.path, headers);
  addProtocol(attributes, httpProtocol(headers['content-type']));
}

function addProtocol(attributes: AttributeMap, protocol: string): void {
  attributes.text('context.protocol', protocol);
  attributes.text('api.protocol', protocol);
}
