import { loggingFlagsFor } from '../flags/logging.ts';
import { flagTable } from '../flags/table.ts';
import { milliseconds } from '../lib/duration.ts';
import type { Parsed } from '../lib/errors.ts';
import { checkDnsLabel } from '../model/parse/dns.ts';
import { urlProblem } from '../rules/adapter/back-end-url.ts';

/** The scopes that mixs logs under. */
export const MIXS_SCOPES = ['default', 'attributes', 'adapters'] as const;

/** What `mixs crd` lists: everything, what adapters read, what templates read. */
export const CRD_PARTS = ['all', 'adapter', 'instance'] as const;

const MEBIBYTE = 1_048_576;
const GIBIBYTE = 1_073_741_824;
const MAX_POOL = 1_000_000;

function checkUrl(text: string): Parsed<string> {
  const message = text === '' ? undefined : urlProblem(text);
  return message === undefined ? { ok: true, value: text } : { ok: false, problems: [{ path: '', message }] };
}

/** Rules of a namespace that cannot be would hold for nobody, without a word. */
function checkNamespace(text: string): Parsed<string> {
  const message = checkDnsLabel(text);
  return message === undefined ? { ok: true, value: text } : { ok: false, problems: [{ path: '', message }] };
}

/** The flags of `mixs server`. */
export const serverFlags = flagTable({
  ...loggingFlagsFor(MIXS_SCOPES),
  adapterWorkerPoolSize: {
    type: 'int',
    default: 1024,
    min: 1,
    max: MAX_POOL,
    summary: 'calls of adapters that may wait for their back ends at once',
  },
  apiWorkerPoolSize: {
    type: 'int',
    default: 1024,
    min: 1,
    max: MAX_POOL,
    summary: 'requests of the API that are worked on at once; more wait',
  },
  configDefaultNamespace: {
    type: 'string',
    default: 'mesh-system',
    check: checkNamespace,
    summary: 'namespace that stores mesh-wide configuration',
  },
  configStoreURL: {
    type: 'string',
    default: '',
    summary: 'config store: k8s://<path to client config> or fs://<directory>; with an empty path the in-cluster configuration',
  },
  livenessProbeInterval: { type: 'duration', default: milliseconds(0), summary: 'interval of updating the liveness file' },
  livenessProbePath: { type: 'string', default: '', summary: 'liveness file path' },
  maxConcurrentStreams: {
    type: 'uint',
    default: 1024,
    min: 1,
    max: 2 ** 31 - 1,
    summary: 'outstanding RPCs per connection, at most',
  },
  maxMessageSize: {
    type: 'uint',
    default: MEBIBYTE,
    min: 1,
    max: GIBIBYTE,
    summary: 'size of one gRPC message in bytes, at most',
  },
  monitoringPort: { type: 'uint16', default: 9093, summary: 'HTTP port for self-monitoring information' },
  port: { type: 'uint16', char: 'p', default: 9091, summary: 'TCP port of the gRPC API' },
  profile: { type: 'bool', default: false, summary: 'enable profiling at host:port/debug/pprof' },
  readinessProbeInterval: { type: 'duration', default: milliseconds(0), summary: 'interval of updating the readiness file' },
  readinessProbePath: { type: 'string', default: '', summary: 'readiness file path' },
  singleThreaded: { type: 'bool', default: false, summary: 'execute each request in a single routine, for debugging' },
  trace_collectorA_url: {
    type: 'string',
    default: '',
    check: checkUrl,
    summary: 'URL of the first tracing collector, for the spans of mixs itself: OTLP over HTTP, such as http://collector:4318',
  },
  trace_collectorB_url: {
    type: 'string',
    default: '',
    aliases: ['trace_zipkin_url'],
    check: checkUrl,
    summary: 'URL of the second tracing collector, for the spans of mixs itself: Zipkin, such as http://zipkin:9411',
  },
  trace_log_spans: { type: 'bool', default: false, summary: 'log trace spans of mixs itself' },
});

export type ServerFlags = typeof serverFlags;
