/** The rules that mixs begins with: metrics and an access log of what sidecars report, under the names that users' dashboards know. */
import type { Names } from '../../lib/names.ts';
import type { KubeObject } from '../../model/object.ts';

const REQUESTS = 'context.protocol == "http" || context.protocol == "grpc"';
const CONNECTIONS = 'context.protocol == "tcp"';

export function defaultRules({ domain }: Names, namespace: string): readonly KubeObject[] {
  const object = (kind: string, name: string, spec: object): KubeObject => ({
    apiVersion: `config.${domain}/v1alpha2`,
    kind,
    metadata: { name, namespace },
    spec,
  });
  const rule = (name: string, match: string, handler: string, instances: readonly string[]): KubeObject =>
    object('rule', name, { match, actions: [{ handler, instances }] });
  const metrics = METRICS.map(({ instance, value, of }) =>
    object('metric', instance, { value, dimensions: { ...DIMENSIONS, ...(of === 'requests' ? OF_REQUESTS : {}) } }),
  );
  const instancesOf = (wanted: MetricOf): readonly string[] =>
    METRICS.filter(({ of }) => of === wanted).map(({ instance }) => `${instance}.metric`);
  return [
    object('kubernetesenv', 'kubernetes', {}),
    object('kubernetes', 'pods', PODS),
    rule('pods', '', 'kubernetes.kubernetesenv', ['pods.kubernetes']),
    ...metrics,
    object('prometheus', 'prometheus', { metrics: METRICS.map(scraped) }),
    rule('request-metrics', REQUESTS, 'prometheus.prometheus', instancesOf('requests')),
    rule('connection-metrics', CONNECTIONS, 'prometheus.prometheus', instancesOf('connections')),
    object('logentry', 'request', { severity: '"info"', timestamp: 'request.time', variables: { ...ENDS, ...REQUEST } }),
    object('logentry', 'connection', { severity: '"info"', timestamp: 'context.time', variables: { ...ENDS, ...CONNECTION } }),
    object('stdio', 'access-log', { outputAsJson: true }),
    rule('request-log', REQUESTS, 'access-log.stdio', ['request.logentry']),
    rule('connection-log', CONNECTIONS, 'access-log.stdio', ['connection.logentry']),
  ];
}

/** Identities are left to certificates: an address proves less. */
const PODS = {
  sourceIp: 'source.ip',
  sourceUid: 'source.uid | ""',
  destinationIp: 'destination.ip',
  destinationUid: 'destination.uid | ""',
  destinationPort: 'destination.port | 0',
  attributeBindings: Object.fromEntries(
    ['source', 'destination'].flatMap((end) =>
      [
        ['name', 'pod_name'],
        ['uid', 'pod_uid'],
        ['labels', 'labels'],
        ['owner', 'owner'],
        ['workload.name', 'workload_name'],
        ['workload.namespace', 'workload_namespace'],
        ['workload.uid', 'workload_uid'],
      ].map(([attribute, output]) => [`${end}.${attribute}`, `$out.${end}_${output}`]),
    ),
  ),
};

/** Whose sidecar tells: calls within the mesh are told of by both. */
const REPORTER = 'conditional((context.reporter.kind | "inbound") == "outbound", "source", "destination")';

const DIMENSIONS = {
  reporter: REPORTER,
  source_workload: 'source.workload.name | "unknown"',
  source_workload_namespace: 'source.workload.namespace | "unknown"',
  source_principal: 'source.principal | "unknown"',
  source_app: 'source.labels["app"] | "unknown"',
  source_version: 'source.labels["version"] | "unknown"',
  destination_workload: 'destination.workload.name | "unknown"',
  destination_workload_namespace: 'destination.workload.namespace | "unknown"',
  destination_principal: 'destination.principal | "unknown"',
  destination_app: 'destination.labels["app"] | "unknown"',
  destination_version: 'destination.labels["version"] | "unknown"',
  destination_service: 'destination.service.host | "unknown"',
  destination_service_name: 'destination.service.name | "unknown"',
  destination_service_namespace: 'destination.service.namespace | "unknown"',
  connection_security_policy: 'conditional(connection.mtls | false, "mutual_tls", "none")',
};
const OF_REQUESTS = { request_protocol: 'api.protocol | context.protocol | "unknown"', response_code: 'response.code | 200' };

type MetricOf = 'requests' | 'connections';
type Kind = 'COUNTER' | 'DURATIONS' | 'SIZES';

const METRICS: readonly {
  readonly instance: string;
  readonly name: string;
  readonly value: string;
  readonly of: MetricOf;
  readonly kind: Kind;
}[] = [
  { instance: 'requestcount', name: 'requests_total', value: '1', of: 'requests', kind: 'COUNTER' },
  {
    instance: 'requestduration',
    name: 'request_duration_seconds',
    value: 'response.duration | "0ms"',
    of: 'requests',
    kind: 'DURATIONS',
  },
  { instance: 'requestsize', name: 'request_bytes', value: 'request.size | 0', of: 'requests', kind: 'SIZES' },
  { instance: 'responsesize', name: 'response_bytes', value: 'response.size | 0', of: 'requests', kind: 'SIZES' },
  {
    instance: 'tcpbytesent',
    name: 'tcp_sent_bytes_total',
    value: 'connection.sent.bytes | 0',
    of: 'connections',
    kind: 'COUNTER',
  },
  {
    instance: 'tcpbytereceived',
    name: 'tcp_received_bytes_total',
    value: 'connection.received.bytes | 0',
    of: 'connections',
    kind: 'COUNTER',
  },
];

/** Seconds, and bytes from one to ten millions. */
const BUCKETS: Readonly<Record<Exclude<Kind, 'COUNTER'>, object>> = {
  DURATIONS: { explicitBuckets: { bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] } },
  SIZES: { exponentialBuckets: { numFiniteBuckets: 8, scale: 1, growthFactor: 10 } },
};

function scraped({ instance, name, of, kind }: (typeof METRICS)[number]): object {
  return {
    name,
    instanceName: `${instance}.metric`,
    ...(kind === 'COUNTER' ? { kind } : { kind: 'DISTRIBUTION', buckets: BUCKETS[kind] }),
    labelNames: [...Object.keys(DIMENSIONS), ...(of === 'requests' ? Object.keys(OF_REQUESTS) : [])],
  };
}

const ENDS = {
  reporter: REPORTER,
  sourceIp: 'source.ip | ip("0.0.0.0")',
  sourceWorkload: 'source.workload.name | "unknown"',
  sourceNamespace: 'source.workload.namespace | source.namespace | "unknown"',
  sourcePrincipal: 'source.principal | ""',
  destinationWorkload: 'destination.workload.name | "unknown"',
  destinationService: 'destination.service.host | "unknown"',
  mutualTls: 'connection.mtls | false',
};
const REQUEST = {
  method: 'request.method | ""',
  url: 'request.path | ""',
  protocol: 'api.protocol | context.protocol | "unknown"',
  responseCode: 'response.code | 0',
  responseFlags: 'response.flags | ""',
  responseSize: 'response.size | 0',
  requestSize: 'request.size | 0',
  latency: 'response.duration | "0ms"',
  requestId: 'request.id | ""',
  userAgent: 'request.useragent | ""',
  refused: 'check.error_message | ""',
};
const CONNECTION = {
  receivedBytes: 'connection.received.bytes | 0',
  sentBytes: 'connection.sent.bytes | 0',
  duration: 'connection.duration | "0ms"',
  responseFlags: 'response.flags | ""',
};
