/** OTLP over HTTP in JSON: https://opentelemetry.io/docs/specs/otlp/#otlphttp */
import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { TypedValue } from '../../rules/attribute/value.ts';
import type { Instances } from '../../rules/template/instances.ts';
import { textOf } from '../adapter/value-text.ts';
import type { Encoded } from './batch-sender.ts';
import { postJson } from './post-json.ts';
import type { Span, SpanEndpoint } from './span.ts';

const SCOPE = { name: 'mesh/mixs' };
/** opentelemetry.proto.trace.v1.Span.SpanKind */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
/** opentelemetry.proto.trace.v1.Status.StatusCode */
const STATUS_ERROR = 2;
/** opentelemetry.proto.logs.v1.SeverityNumber; a severity with another name has none. */
const SEVERITIES: Readonly<Record<string, number>> = {
  TRACE: 1,
  DEBUG: 5,
  DEFAULT: 9,
  INFO: 9,
  NOTICE: 10,
  WARN: 13,
  WARNING: 13,
  ERROR: 17,
  CRITICAL: 21,
  FATAL: 21,
};

type AnyValue = Readonly<Record<string, unknown>>;

export function encodeOtlpSpan(span: Span): Encoded {
  const { traceId, spanId, parentSpanId, name, kind, start, end, tags, failed, local, remote } = span;
  const text = JSON.stringify({
    traceId,
    spanId,
    parentSpanId,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(end),
    attributes: [...addressAttributes('peer', remote), ...addressAttributes('local', local), ...attributesOf(tags)],
    status: failed ? { code: STATUS_ERROR } : {},
  });
  return { group: local.name ?? '', text };
}

export function encodeOtlpLog({ name, timestamp, severity, variables }: Instances['logentry'], now: Date): Encoded {
  const text = JSON.stringify({
    timeUnixNano: String(timestamp),
    observedTimeUnixNano: `${now.getTime()}000000`,
    severityNumber: SEVERITIES[severity.toUpperCase()],
    severityText: severity,
    body: { stringValue: name },
    attributes: attributesOf(variables),
  });
  return { group: '', text };
}

function addressAttributes(prefix: 'peer' | 'local', endpoint: SpanEndpoint | undefined): readonly object[] {
  const texts = {
    ...(prefix === 'peer' ? { 'peer.service': endpoint?.name } : {}),
    [prefix === 'peer' ? 'network.peer.address' : 'network.local.address']: endpoint?.address,
  };
  return Object.entries(texts).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: { stringValue: value } }]));
}

function attributesOf(values: Readonly<Record<string, TypedValue>>): readonly object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValueOf(value) }));
}

function anyValueOf(typed: TypedValue): AnyValue {
  switch (typed.type) {
    case 'INT64':
      return { intValue: String(typed.value) };
    case 'DOUBLE':
      // JSON has no such numbers; the JSON of protobuf has texts for them.
      return { doubleValue: Number.isFinite(typed.value) ? typed.value : String(typed.value) };
    case 'BOOL':
      return { boolValue: typed.value };
    case 'STRING_MAP':
      return { kvlistValue: { values: [...typed.value].map(([key, value]) => ({ key, value: { stringValue: value } })) } };
    default:
      return { stringValue: textOf(typed) };
  }
}

const SIGNALS = {
  traces: { resources: 'resourceSpans', scopes: 'scopeSpans', records: 'spans', rejected: 'rejectedSpans' },
  logs: { resources: 'resourceLogs', scopes: 'scopeLogs', records: 'logRecords', rejected: 'rejectedLogRecords' },
} as const;

/** Sends records as one message, those of one service as one resource. `url` is the collector's; the path of the signal is added. */
export function otlpSend(
  url: string,
  kind: keyof typeof SIGNALS,
  deadline: Duration,
): (records: readonly Encoded[], signal: AbortSignal) => Promise<number> {
  const target = otlpUrl(url, kind);
  return async (records, signal) => {
    const answer = await postJson(target, otlpMessage(kind, records), deadline, signal);
    return rejectedIn(answer, SIGNALS[kind].rejected);
  };
}

export function otlpUrl(url: string, kind: keyof typeof SIGNALS): string {
  const parsed = new URL(url);
  parsed.pathname = `${parsed.pathname.replace(/\/+$/, '')}/v1/${kind}`;
  return parsed.href;
}

function otlpMessage(kind: keyof typeof SIGNALS, records: readonly Encoded[]): string {
  const names = SIGNALS[kind];
  const groups = new Map<string, string[]>();
  for (const { group, text } of records) {
    const same = groups.get(group) ?? [];
    groups.set(group, same);
    same.push(text);
  }
  const scope = JSON.stringify(SCOPE);
  const resources = [...groups].map(([service, texts]) => {
    const attributes = service === '' ? [] : [{ key: 'service.name', value: { stringValue: service } }];
    const resource = JSON.stringify({ attributes });
    return `{"resource":${resource},"${names.scopes}":[{"scope":${scope},"${names.records}":[${texts.join(',')}]}]}`;
  });
  return `{"${names.resources}":[${resources.join(',')}]}`;
}

/** A collector that takes only some tells how many it does not. */
function rejectedIn(answer: string, field: string): number {
  if (answer.trim() === '') return 0;
  let document: unknown;
  try {
    document = JSON.parse(answer);
  } catch (thrown) {
    throw new MeshError('invalid', 'the collector answers something that is no JSON', thrown);
  }
  const partial = (document as { readonly partialSuccess?: Readonly<Record<string, unknown>> } | null)?.partialSuccess;
  const rejected = Number(partial?.[field] ?? 0);
  return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
}
