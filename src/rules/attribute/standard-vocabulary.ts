import type { Vocabulary } from './bag.ts';
import type { ValueType } from './value.ts';

const EITHER_END: Readonly<Record<string, ValueType>> = {
  ip: 'IP_ADDRESS',
  port: 'INT64',
  name: 'STRING',
  uid: 'STRING',
  namespace: 'STRING',
  labels: 'STRING_MAP',
  metadata: 'STRING_MAP',
  user: 'STRING',
  principal: 'STRING',
  owner: 'STRING',
  service: 'STRING',
  services: 'STRING',
  serviceAccount: 'STRING',
  'workload.uid': 'STRING',
  'workload.name': 'STRING',
  'workload.namespace': 'STRING',
  'container.name': 'STRING',
  'container.image': 'STRING',
};

const OTHERS: Readonly<Record<string, ValueType>> = {
  'destination.service.uid': 'STRING',
  'destination.service.name': 'STRING',
  'destination.service.namespace': 'STRING',
  'destination.service.host': 'STRING',
  'request.headers': 'STRING_MAP',
  'request.id': 'STRING',
  'request.path': 'STRING',
  'request.url_path': 'STRING',
  'request.query_params': 'STRING_MAP',
  'request.host': 'STRING',
  'request.method': 'STRING',
  'request.reason': 'STRING',
  'request.referer': 'STRING',
  'request.scheme': 'STRING',
  'request.size': 'INT64',
  'request.total_size': 'INT64',
  'request.time': 'TIMESTAMP',
  'request.useragent': 'STRING',
  'request.api_key': 'STRING',
  'request.auth.principal': 'STRING',
  'request.auth.audiences': 'STRING',
  'request.auth.presenter': 'STRING',
  'request.auth.claims': 'STRING_MAP',
  'request.auth.raw_claims': 'STRING',
  'response.headers': 'STRING_MAP',
  'response.size': 'INT64',
  'response.total_size': 'INT64',
  'response.time': 'TIMESTAMP',
  'response.duration': 'DURATION',
  'response.code': 'INT64',
  'response.flags': 'STRING',
  'response.grpc_status': 'STRING',
  'response.grpc_message': 'STRING',
  'connection.id': 'STRING',
  'connection.event': 'STRING',
  'connection.received.bytes': 'INT64',
  'connection.received.bytes_total': 'INT64',
  'connection.sent.bytes': 'INT64',
  'connection.sent.bytes_total': 'INT64',
  'connection.duration': 'DURATION',
  'connection.mtls': 'BOOL',
  'connection.requested_server_name': 'STRING',
  'context.protocol': 'STRING',
  'context.timestamp': 'TIMESTAMP',
  'context.time': 'TIMESTAMP',
  'context.proxy_error_code': 'STRING',
  'context.reporter.kind': 'STRING',
  'context.reporter.local': 'BOOL',
  'context.reporter.type': 'STRING',
  'context.reporter.uid': 'STRING',
  'api.service': 'STRING',
  'api.version': 'STRING',
  'api.operation': 'STRING',
  'api.protocol': 'STRING',
  'check.error_code': 'INT64',
  'check.error_message': 'STRING',
  'check.cache_hit': 'BOOL',
  'quota.cache_hit': 'BOOL',
};

/** The attributes that proxies and adapters of the mesh produce; attributemanifests add to them. */
export const STANDARD_ATTRIBUTES: ReadonlyMap<string, ValueType> = new Map([
  ...['source', 'destination'].flatMap((end) =>
    Object.entries(EITHER_END).map(([name, type]): [string, ValueType] => [`${end}.${name}`, type]),
  ),
  ...Object.entries(OTHERS),
]);

/** The standard attributes and those of manifests. */
export function vocabularyWith(more: ReadonlyMap<string, ValueType>): Vocabulary {
  const all = new Map([...STANDARD_ATTRIBUTES, ...more]);
  return { typeOf: (name) => all.get(name), names: () => all.keys() };
}
