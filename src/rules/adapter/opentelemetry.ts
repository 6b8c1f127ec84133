import { urlProblem } from './back-end-url.ts';
import { defineAdapter, SCHEMA } from './define.ts';
import { readTelemetryLimits, TELEMETRY_FIELDS, TELEMETRY_SCHEMA, type TelemetryLimits } from './telemetry-limits.ts';

export interface OpenTelemetryParams extends TelemetryLimits {
  /** Of the collector; the signal's path is added. */
  readonly url: string;
}

/** Spans and log records for an OpenTelemetry collector. */
export const opentelemetry = defineAdapter<OpenTelemetryParams>({
  name: 'opentelemetry',
  description: 'Sends spans and log entries to an OpenTelemetry collector (OTLP over HTTP)',
  templates: ['logentry', 'tracespan'],
  schema: SCHEMA.object(
    { url: { ...SCHEMA.text, description: 'http or https; /v1/traces and /v1/logs are added' }, ...TELEMETRY_SCHEMA },
    ['url'],
  ),
  read: (fields) => {
    fields.noOthers(['url', ...TELEMETRY_FIELDS]);
    return { url: fields.checkedText('url', urlProblem), ...readTelemetryLimits(fields) };
  },
});
