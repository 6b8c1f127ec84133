import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CheckRequest, CheckResponse } from '#gen/istio/mixer/v1/mixer.ts';
import { unaryCall } from '../../src/io/grpc/client.ts';
import { seconds } from '../../src/lib/duration.ts';
import type { Handler } from '../../src/mixs/adapter/adapter.ts';
import { openZipkin } from '../../src/mixs/adapter/zipkin.ts';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { zipkin } from '../../src/rules/adapter/zipkin.ts';
import { adapterEnvironment, type TestEnvironment } from '../fakes/adapter-environment.ts';
import { spanInstance } from '../fakes/spans.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { requireZipkin, ZipkinServer } from '../harness/span-back-ends.ts';

describe('the zipkin adapter with a real Zipkin', function () {
  this.timeout(120_000);
  let server: ZipkinServer;
  let handler: Handler;
  let environment: TestEnvironment;
  const begin = BigInt(Date.now()) * 1_000_000n;

  const open = (spec: object = {}): Handler => {
    environment = adapterEnvironment();
    const params = zipkin.parse({ url: server.url, flushInterval: '10ms', deadline: '1m', ...spec }, []);
    if (!params.ok) throw new Error(JSON.stringify(params.problems));
    return openZipkin(params.value, environment);
  };
  const report = (values: Parameters<typeof spanInstance>[0]): void =>
    void handler.report?.([spanInstance(values, begin)], { signal: environment.signal });
  const warnings = (): readonly string[] =>
    environment.logger.entries.filter(({ level }) => level === 'warn').map(({ message }) => message);

  before(async function () {
    server = new ZipkinServer(requireZipkin(this), await freePort());
  });

  after(() => server?.kill());

  it('keeps spans for a Zipkin that is down at the start', async () => {
    handler = open();
    report({});
    while (warnings().length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await server.start();
    const [span] = await server.spansOf('463ac35c9f6413ad48485a3953bb6124', 1);
    expect(span).to.deep.equal({
      traceId: '463ac35c9f6413ad48485a3953bb6124',
      id: 'a2fb4a1d1a96d312',
      parentId: '0020000000000001',
      kind: 'CLIENT',
      name: '/get',
      timestamp: Number(begin / 1000n),
      duration: 25_001,
      localEndpoint: { serviceName: 'sleep', ipv4: '10.0.0.1' },
      remoteEndpoint: { serviceName: 'httpbin', ipv6: 'fd00::2' },
      tags: { error: '503', 'http.status_code': '503', 'http.method': 'GET', attempts: '2' },
    });
    expect(warnings()).to.have.length(1);
  });

  it('joins the spans of both ends in one trace, the short ids of b3 included', async () => {
    const traceId = '48485a3953bb6125';
    report({ traceId, httpStatusCode: 200n });
    report({ traceId, clientSpan: false, spanId: 'B000000000000002', parentSpanId: 'a2fb4a1d1a96d312', httpStatusCode: 200n });
    const spans = await server.spansOf(traceId, 2);
    expect(spans.map(({ kind, id, localEndpoint }) => [kind, id, localEndpoint?.['serviceName']])).to.have.deep.members([
      ['CLIENT', 'a2fb4a1d1a96d312', 'sleep'],
      ['SERVER', 'b000000000000002', 'httpbin'],
    ]);
    expect(spans.some(({ tags }) => tags?.['error'] !== undefined)).to.equal(false);
  });

  it('loses what no Zipkin could take, with a count', () => {
    const bad = { traceId: 'x'.repeat(32), spanId: '', parentSpanId: 'abc', endTime: 1n } as const;
    for (const [field, value] of Object.entries(bad)) report({ [field]: value });
    report({ traceId: '0'.repeat(32) });
    expect(environment.losses.get('malformed')).to.equal(5);
  });

  it('survives an outage with what its bound allows, and logs it once', async () => {
    await handler.close(AbortSignal.timeout(60_000));
    await server.kill();
    handler = open({ maxQueued: 3 });
    const traceId = '463ac35c9f6413ad48485a3953bb6126';
    for (let id = 1; id <= 5; id++) report({ traceId, spanId: `000000000000000${id}` });
    expect(environment.losses.get('queue full')).to.equal(2);
    while (warnings().length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await server.start();
    expect(await server.spansOf(traceId, 3)).to.have.length(3);
    await handler.close(AbortSignal.timeout(60_000));
    expect(environment.logger.entries.map(({ message, fields }) => [message, fields['lost']])).to.deep.equal([
      ['a back end takes no records: they wait, and are lost when too many do', undefined],
      ['a back end takes records again', 2],
    ]);
  });

  it('gets the spans of mixs itself', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'mixs-zipkin-'));
    const port = await freePort();
    const flags = {
      configStoreURL: `fs://${directory}`,
      port,
      monitoringPort: await freePort(),
      trace_collectorB_url: server.url,
    };
    const mixs = await InProcess.start(run, serverFlags, flags, 'serving');
    const traceId = '463ac35c9f6413ad48485a3953bb6128';
    await unaryCall({
      address: `127.0.0.1:${port}`,
      path: '/istio.mixer.v1.Mixer/Check',
      request: CheckRequest.fromPartial({}),
      requestCodec: CheckRequest,
      responseCodec: CheckResponse,
      metadata: { 'x-b3-traceid': traceId, 'x-b3-spanid': 'a2fb4a1d1a96d312', 'x-b3-sampled': '1' },
      deadline: seconds(60),
      signal: new AbortController().signal,
    });
    expect(await mixs.stop()).to.equal(0);
    rmSync(directory, { recursive: true });
    const [span] = await server.spansOf(traceId, 1);
    expect(span).to.deep.include({ kind: 'SERVER', parentId: 'a2fb4a1d1a96d312', name: 'istio.mixer.v1.mixer/check' });
    expect(span?.localEndpoint).to.deep.equal({ serviceName: 'mixs' });
  });

  it('sends what waits when it is closed, and gives up in time when nobody takes it', async () => {
    handler = open({ flushInterval: '60s' });
    const traceId = '463ac35c9f6413ad48485a3953bb6127';
    report({ traceId });
    await handler.close(AbortSignal.timeout(60_000));
    expect(await server.spansOf(traceId, 1)).to.have.length(1);
    await server.kill();
    handler = open();
    report({ traceId });
    await handler.close(AbortSignal.timeout(300));
    expect(environment.losses.get('shutdown')).to.equal(1);
  });
});
