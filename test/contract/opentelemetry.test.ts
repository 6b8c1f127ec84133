import { expect } from 'chai';
import type { Handler } from '../../src/mixs/adapter/adapter.ts';
import { openOpenTelemetry } from '../../src/mixs/adapter/opentelemetry.ts';
import { opentelemetry } from '../../src/rules/adapter/opentelemetry.ts';
import type { BuiltInstance } from '../../src/rules/template/instances.ts';
import { adapterEnvironment, type TestEnvironment } from '../fakes/adapter-environment.ts';
import { spanInstance } from '../fakes/spans.ts';
import { freePort } from '../harness/free-port.ts';
import { OtlpReceiver, requireOtlpReceiver } from '../harness/span-back-ends.ts';

const LOG_ENTRY: BuiltInstance<'logentry'> = {
  template: 'logentry',
  values: {
    name: 'access.logentry.ns',
    timestamp: 1_527_854_400_000_000_001n,
    severity: 'Warning',
    variables: {
      path: { type: 'STRING', value: '/"get' },
      size: { type: 'INT64', value: 9_007_199_254_740_993n },
      latency: { type: 'DURATION', value: 1_500_000_000n },
      ratio: { type: 'DOUBLE', value: 0.5 },
      allowed: { type: 'BOOL', value: true },
      labels: { type: 'STRING_MAP', value: new Map([['app', 'sleep']]) },
    },
    monitoredResourceDimensions: {},
  },
};

describe('the opentelemetry adapter with the receiver of a real collector', function () {
  this.timeout(120_000);
  let receiver: OtlpReceiver;
  let handler: Handler;
  let environment: TestEnvironment;

  const open = (spec: object = {}): Handler => {
    environment = adapterEnvironment();
    const params = opentelemetry.parse({ url: receiver.url, flushInterval: '10ms', deadline: '1m', ...spec }, []);
    if (!params.ok) throw new Error(JSON.stringify(params.problems));
    return openOpenTelemetry(params.value, environment);
  };
  const report = (...instances: Parameters<NonNullable<Handler['report']>>[0]): void =>
    void handler.report?.(instances, { signal: environment.signal });

  before(async function () {
    receiver = new OtlpReceiver(requireOtlpReceiver(this), await freePort());
  });

  after(() => receiver?.kill());

  it('keeps spans and log entries for a collector that is down at the start', async () => {
    handler = open();
    report(spanInstance(), LOG_ENTRY);
    while (environment.logger.entries.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    await receiver.start();
    const [traces] = await receiver.taken('traces', 1);
    expect(traces).to.deep.equal({
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'sleep' } }] },
          scopeSpans: [
            {
              scope: { name: 'mesh/mixs' },
              spans: [
                {
                  traceId: '463ac35c9f6413ad48485a3953bb6124',
                  spanId: 'a2fb4a1d1a96d312',
                  parentSpanId: '0020000000000001',
                  name: '/get',
                  kind: 3,
                  startTimeUnixNano: '1527854400000000000',
                  endTimeUnixNano: '1527854400025000500',
                  attributes: [
                    { key: 'peer.service', value: { stringValue: 'httpbin' } },
                    { key: 'network.peer.address', value: { stringValue: 'fd00::2' } },
                    { key: 'network.local.address', value: { stringValue: '10.0.0.1' } },
                    { key: 'http.status_code', value: { intValue: '503' } },
                    { key: 'http.method', value: { stringValue: 'GET' } },
                    { key: 'attempts', value: { intValue: '2' } },
                  ],
                  status: { code: 2 },
                },
              ],
            },
          ],
        },
      ],
    });
    const [logs] = await receiver.taken('logs', 1);
    expect(logs)
      .to.have.nested.property('resourceLogs[0].scopeLogs[0].logRecords')
      .that.deep.equals([
        {
          timeUnixNano: '1527854400000000001',
          observedTimeUnixNano: '1527854400000000000',
          severityNumber: 13,
          severityText: 'Warning',
          body: { stringValue: 'access.logentry.ns' },
          attributes: [
            { key: 'path', value: { stringValue: '/"get' } },
            { key: 'size', value: { intValue: '9007199254740993' } },
            { key: 'latency', value: { stringValue: '1.5s' } },
            { key: 'ratio', value: { doubleValue: 0.5 } },
            { key: 'allowed', value: { boolValue: true } },
            { key: 'labels', value: { kvlistValue: { values: [{ key: 'app', value: { stringValue: 'sleep' } }] } } },
          ],
        },
      ]);
  });

  it('tells the two spans of a request apart where back ends want that, and their services', async () => {
    const traceId = '463ac35c9f6413ad48485a3953bb6125';
    const both = { traceId, rewriteClientSpanId: true, parentSpanId: undefined } as const;
    report(spanInstance(both), spanInstance({ ...both, clientSpan: false }));
    const [, message] = await receiver.taken('traces', 2);
    const spans = (message as OtlpTraces).resourceSpans.map(({ resource, scopeSpans }) => ({
      service: resource.attributes[0]?.value['stringValue'],
      spans: scopeSpans[0]?.spans.map(({ spanId, parentSpanId }) => [spanId, parentSpanId ?? '']),
    }));
    expect(spans).to.deep.equal([
      { service: 'sleep', spans: [['5d04b5e2e5692ced', '']] },
      { service: 'httpbin', spans: [['a2fb4a1d1a96d312', '5d04b5e2e5692ced']] },
    ]);
  });

  it('goes on when the collector comes back, with what its bound allows', async () => {
    await handler.close(AbortSignal.timeout(60_000));
    await receiver.kill();
    handler = open({ maxQueued: 2 });
    report(LOG_ENTRY, LOG_ENTRY, LOG_ENTRY);
    expect(environment.losses.get('queue full')).to.equal(1);
    while (environment.logger.entries.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await receiver.start();
    const [logs] = await receiver.taken('logs', 1);
    expect(logs).to.have.nested.property('resourceLogs[0].scopeLogs[0].logRecords').with.length(2);
    await handler.close(AbortSignal.timeout(60_000));
  });

  it('sends what waits when it is closed', async () => {
    handler = open({ flushInterval: '60s' });
    report(LOG_ENTRY);
    await handler.close(AbortSignal.timeout(60_000));
    expect(await receiver.taken('logs', 2)).to.have.length(2);
  });
});

interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { readonly value: Readonly<Record<string, string>> }[] };
    readonly scopeSpans: readonly { readonly spans: readonly { readonly spanId: string; readonly parentSpanId?: string }[] }[];
  }[];
}
