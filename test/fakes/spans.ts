import type { BuiltInstance } from '../../src/rules/template/instances.ts';

type SpanInstance = BuiltInstance<'tracespan'>;

const BEGIN = 1_527_854_400_000_000_000n;

/** A tracespan instance of a request from sleep to httpbin; `begin` in nanoseconds since 1970. */
export function spanInstance(values: Partial<SpanInstance['values']> = {}, begin = BEGIN): SpanInstance {
  return {
    template: 'tracespan',
    values: {
      name: 'span.tracespan.ns',
      traceId: '463ac35c9f6413ad48485a3953bb6124',
      spanId: 'a2fb4a1d1a96d312',
      parentSpanId: '0020000000000001',
      spanName: '/get',
      startTime: begin,
      endTime: begin + 25_000_500n,
      spanTags: { 'http.method': { type: 'STRING', value: 'GET' }, attempts: { type: 'INT64', value: 2n } },
      httpStatusCode: 503n,
      clientSpan: true,
      sourceName: 'sleep',
      sourceIp: '10.0.0.1',
      destinationName: 'httpbin',
      destinationIp: 'fd00::2',
      ...values,
    },
  };
}
