import { type Duration, formatDuration, milliseconds, seconds } from '../../lib/duration.ts';
import type { Fields } from '../../model/parse/fields.ts';
import type { ValueType } from '../attribute/value.ts';
import type { CompiledInstance, TemplateName } from '../template/template.ts';
import { REQUEST_TEMPLATES } from '../template/templates.ts';
import { defineAdapter, SCHEMA } from './define.ts';

export interface GrpcAdapterParams {
  /** `host:port` or `unix:/path`. */
  readonly address: string;
  /** Absent: plaintext. */
  readonly tls: GrpcAdapterTls | undefined;
  /** What the adapter behind the address takes. */
  readonly templates: readonly TemplateName[];
  /** Those that rules send, by name. */
  readonly instances: readonly SentInstance[];
  /** For the adapter to read. */
  readonly params: Readonly<Record<string, unknown>>;
  /** For a call, the opening of a session included. */
  readonly deadline: Duration;
  /** Whether requests are refused, and quotas not granted, that the adapter does not decide. */
  readonly failClose: boolean;
  /** How long clients may remember a decision of which the adapter does not say it. */
  readonly validDuration: Duration;
  /** How long at most, whatever the adapter says. */
  readonly maxValidDuration: Duration;
  readonly circuitBreaker: CircuitBreakerParams;
  readonly healthCheckInterval: Duration;
  /** A report waits this long for others. */
  readonly flushInterval: Duration;
  /** Reports that wait, at most. */
  readonly maxQueued: number;
}

/** Paths of PEM files, read when a connection is made. */
export interface GrpcAdapterTls {
  /** Absent: the roots that the runtime knows. */
  readonly caCertificates: string | undefined;
  readonly client: { readonly certificate: string; readonly privateKey: string } | undefined;
  /** The name that the adapter's certificate must carry; absent: the host of the address. */
  readonly serverName: string | undefined;
}

export interface CircuitBreakerParams {
  /** So many calls in a row that fail open the circuit. */
  readonly consecutiveFailures: number;
  /** No call is made for as long, at first; longer when it goes on. */
  readonly openDuration: Duration;
}

export interface SentInstance {
  readonly name: string;
  readonly template: TemplateName;
  readonly types: Readonly<Record<string, ValueType>>;
}

const FIELDS = [
  'address',
  'tls',
  'templates',
  'params',
  'deadline',
  'failClose',
  'validDuration',
  'maxValidDuration',
  'circuitBreaker',
  'healthCheckInterval',
  'flushInterval',
  'maxQueued',
];
const TLS_FIELDS = ['caCertificates', 'clientCertificate', 'privateKey', 'serverName'];

const HOST_AND_PORT = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+):([0-9]{1,5})$/;
const SOCKET = /^unix:\/[^\s]+$/;
const MAX_QUEUED = 100_000;
const MAX_FAILURES = 1_000;
/** Adapters receive messages of 4 MiB, by default of gRPC; nobody writes as much by hand. */
const MAX_PARAMS = 256 * 1024;

/** A program of the operator's own, behind mesh.adapter.v1. */
export const grpcadapter = defineAdapter<GrpcAdapterParams>({
  name: 'grpcadapter',
  description: 'Asks and tells a program of your own that serves mesh.adapter.v1 over gRPC',
  templates: REQUEST_TEMPLATES,
  templatesOf: ({ templates }) => templates,
  schema: SCHEMA.object(
    {
      address: { ...SCHEMA.text, description: 'host:port, or unix:/path' },
      tls: {
        ...SCHEMA.object({
          caCertificates: { ...SCHEMA.text, description: 'path of a PEM file; default is what the system trusts' },
          clientCertificate: { ...SCHEMA.text, description: 'path of a PEM file' },
          privateKey: { ...SCHEMA.text, description: 'path of a PEM file' },
          serverName: { ...SCHEMA.text, description: 'in the certificate of the adapter; default is the host of address' },
        }),
        description: 'without it the connection is in plaintext',
      },
      templates: { ...SCHEMA.list({ type: 'string', enum: REQUEST_TEMPLATES }), description: 'what the adapter takes' },
      params: { type: 'object', description: 'for the adapter to read' },
      deadline: { ...SCHEMA.duration, description: 'for a call, 10ms to 5s; default 1s' },
      failClose: { ...SCHEMA.flag, description: 'whether to refuse what the adapter does not decide; default true' },
      validDuration: { ...SCHEMA.duration, description: 'of decisions whose duration the adapter does not say; default 5s' },
      maxValidDuration: { ...SCHEMA.duration, description: 'of any decision; default 1m' },
      circuitBreaker: SCHEMA.object({
        consecutiveFailures: { ...SCHEMA.count, description: 'that open the circuit, 1 to 1000; default 5' },
        openDuration: { ...SCHEMA.duration, description: 'without a call, 10ms to 5m; default 5s' },
      }),
      healthCheckInterval: { ...SCHEMA.duration, description: '10ms to 5m; default 5s' },
      flushInterval: { ...SCHEMA.duration, description: 'how long a report waits for others, 10ms to 60s; default 1s' },
      maxQueued: { ...SCHEMA.count, description: 'reports that wait at most, 1 to 100000; more are lost; default 10000' },
    },
    ['address', 'templates'],
  ),
  read: (fields, instances) => {
    fields.noOthers(FIELDS);
    const address = fields.checkedText('address', addressProblem);
    const templates = readTemplates(fields);
    const maxValidDuration = between(fields, 'maxValidDuration', milliseconds(0), seconds(86_400)) ?? seconds(60);
    return {
      address,
      tls: readTls(fields, address),
      templates,
      instances: sentInstances(instances, templates),
      params: readParams(fields),
      deadline: between(fields, 'deadline', milliseconds(10), seconds(5)) ?? seconds(1),
      failClose: fields.boolean('failClose') ?? true,
      validDuration: readValidDuration(fields, maxValidDuration),
      maxValidDuration,
      circuitBreaker: readCircuitBreaker(fields.object('circuitBreaker')),
      healthCheckInterval: between(fields, 'healthCheckInterval', milliseconds(10), seconds(300)) ?? seconds(5),
      flushInterval: between(fields, 'flushInterval', milliseconds(10), seconds(60)) ?? seconds(1),
      maxQueued: fields.wholeNumber('maxQueued', 1, MAX_QUEUED) ?? 10_000,
    };
  },
});

function addressProblem(address: string): string | undefined {
  if (SOCKET.test(address)) return undefined;
  const port = Number(HOST_AND_PORT.exec(address)?.[1] ?? 0);
  return port >= 1 && port <= 65_535 ? undefined : `"${address}" is neither host:port nor unix:/path`;
}

function readTls(fields: Fields, address: string): GrpcAdapterTls | undefined {
  if (!fields.has('tls')) return undefined;
  if (SOCKET.test(address)) fields.refuse('tls', 'is not for sockets of this machine');
  const tls = fields.object('tls');
  tls.noOthers(TLS_FIELDS);
  const certificate = readPath(tls, 'clientCertificate');
  const privateKey = readPath(tls, 'privateKey');
  if (certificate !== undefined && privateKey === undefined) tls.refuse('privateKey', 'is required with clientCertificate');
  if (privateKey !== undefined && certificate === undefined) tls.refuse('clientCertificate', 'is required with privateKey');
  return {
    caCertificates: readPath(tls, 'caCertificates'),
    client: certificate === undefined || privateKey === undefined ? undefined : { certificate, privateKey },
    serverName: tls.text('serverName') || undefined,
  };
}

/** Configuration is shown on pages: a key has no place in it. */
function readPath(tls: Fields, field: string): string | undefined {
  const path = tls.text(field) || undefined;
  if (path?.includes('-----BEGIN') === true) tls.refuse(field, 'must be the path of a file, not its content');
  else if (path !== undefined && !path.startsWith('/')) tls.refuse(field, `"${path}" is no absolute path`);
  return path;
}

function readTemplates(fields: Fields): readonly TemplateName[] {
  const texts = fields.texts('templates');
  if (texts.length === 0) fields.refuse('templates', `must name at least one of ${REQUEST_TEMPLATES.join(', ')}`);
  return texts.flatMap((text, index) => {
    const template = REQUEST_TEMPLATES.find((name) => name === text);
    if (template === undefined) fields.refuse(`templates[${index}]`, `"${text}" is none of ${REQUEST_TEMPLATES.join(', ')}`);
    return template ?? [];
  });
}

function sentInstances(instances: readonly CompiledInstance[], templates: readonly TemplateName[]): readonly SentInstance[] {
  return instances
    .filter(({ template }) => templates.includes(template))
    .map(({ name, template, types }) => ({ name, template, types }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function readParams(fields: Fields): Readonly<Record<string, unknown>> {
  const params = fields.freeForm('params');
  if (JSON.stringify(params).length > MAX_PARAMS) fields.refuse('params', `must not be longer than ${MAX_PARAMS} bytes of JSON`);
  return params;
}

function readValidDuration(fields: Fields, longest: Duration): Duration {
  const given = fields.duration('validDuration');
  if (given !== undefined && given > longest)
    fields.refuse('validDuration', `must not be longer than maxValidDuration, ${formatDuration(longest)}`);
  return given ?? milliseconds(Math.min(seconds(5), longest));
}

function readCircuitBreaker(fields: Fields): CircuitBreakerParams {
  fields.noOthers(['consecutiveFailures', 'openDuration']);
  return {
    consecutiveFailures: fields.wholeNumber('consecutiveFailures', 1, MAX_FAILURES) ?? 5,
    openDuration: between(fields, 'openDuration', milliseconds(10), seconds(300)) ?? seconds(5),
  };
}

function between(fields: Fields, field: string, shortest: Duration, longest: Duration): Duration | undefined {
  const value = fields.duration(field);
  if (value !== undefined && (value < shortest || value > longest))
    fields.refuse(field, `must be from ${formatDuration(shortest)} to ${formatDuration(longest)}`);
  return value;
}
