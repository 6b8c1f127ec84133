import { urlProblem } from './back-end-url.ts';
import { defineAdapter, SCHEMA } from './define.ts';
import { readTelemetryLimits, TELEMETRY_FIELDS, TELEMETRY_SCHEMA, type TelemetryLimits } from './telemetry-limits.ts';

export interface ZipkinParams extends TelemetryLimits {
  /** Of the server; the path is that of its API where it names none. */
  readonly url: string;
  /** Of [0, 1]: the part of all traces that is sent. */
  readonly sampleProbability: number;
}

/** Spans for Zipkin, or for whoever takes its v2 JSON. */
export const zipkin = defineAdapter<ZipkinParams>({
  name: 'zipkin',
  description: 'Sends spans to Zipkin',
  templates: ['tracespan'],
  schema: SCHEMA.object(
    {
      url: { ...SCHEMA.text, description: 'http or https; without a path, /api/v2/spans is added' },
      sampleProbability: { type: 'number', description: 'the part of all traces that is sent, 0 to 1; default 1' },
      ...TELEMETRY_SCHEMA,
    },
    ['url'],
  ),
  read: (fields) => {
    fields.noOthers(['url', 'sampleProbability', ...TELEMETRY_FIELDS]);
    const sampleProbability = fields.number('sampleProbability') ?? 1;
    if (sampleProbability < 0 || sampleProbability > 1) fields.refuse('sampleProbability', 'must be from 0 to 1');
    return { url: fields.checkedText('url', urlProblem), sampleProbability, ...readTelemetryLimits(fields) };
  },
});
