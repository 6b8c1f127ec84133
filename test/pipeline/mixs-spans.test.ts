import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { dump } from 'js-yaml';
import { CheckRequest, CheckResponse } from '#gen/envoy/service/auth/v3/external_auth.ts';
import { unaryCall } from '../../src/io/grpc/client.ts';
import { seconds } from '../../src/lib/duration.ts';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { OtlpReceiver, requireOtlpReceiver } from '../harness/span-back-ends.ts';

const TRACE = '463ac35c9f6413ad48485a3953bb6124';
const SPAN = 'a2fb4a1d1a96d312';

describe('spans of mixs itself', function () {
  this.timeout(120_000);
  let directory: string;
  let receiver: OtlpReceiver;
  let server: InProcess;
  let port: number;
  /** Takes spans as Zipkin does, and knows them before it answers. */
  let other: Server;
  let taken = '';

  const check = (metadata: Readonly<Record<string, string>>): Promise<CheckResponse> =>
    unaryCall({
      address: `127.0.0.1:${port}`,
      path: '/envoy.service.auth.v3.Authorization/Check',
      request: CheckRequest.fromPartial({}),
      requestCodec: CheckRequest,
      responseCodec: CheckResponse,
      metadata,
      deadline: seconds(10),
      signal: new AbortController().signal,
    });

  before(async function () {
    receiver = new OtlpReceiver(requireOtlpReceiver(this), await freePort());
    directory = mkdtempSync(join(tmpdir(), 'mixs-spans-'));
    const objects = [
      ruleObject('denier', 'deny'),
      ruleObject('checknothing', 'nothing'),
      ruleObject('rule', 'deny', { actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }] }),
    ];
    writeFileSync(join(directory, 'rules.yaml'), objects.map((object) => dump(object)).join('---\n'));
    port = await freePort();
    other = createServer((request, response) => {
      request.on('data', (chunk) => {
        taken += String(chunk);
      });
      request.on('end', () => response.writeHead(202).end());
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const flags = {
      configStoreURL: `fs://${directory}`,
      port,
      monitoringPort: await freePort(),
      trace_collectorA_url: receiver.url,
      trace_collectorB_url: `http://127.0.0.1:${(other.address() as AddressInfo).port}`,
      trace_log_spans: true,
    };
    await receiver.start();
    server = await InProcess.start(run, serverFlags, flags, 'serving');
  });

  after(async () => {
    await server?.stop();
    await receiver?.kill();
    other?.close();
    other?.closeAllConnections();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  });

  /** All spans, when there are as many, in however many messages they come. */
  async function spansTaken(count: number): Promise<readonly OtlpSpan[]> {
    for (let messages = 1; ; messages++) {
      const spans = spansOf(await receiver.taken('traces', messages));
      if (spans.length >= count) return spans;
    }
  }

  it('follow the trace of the caller, who may not want them', async () => {
    await check({ traceparent: `00-${TRACE}-${SPAN}-00` });
    await check({ b3: `${TRACE}-${SPAN}-1` });
    const spans = await spansTaken(2);
    expect(spans).to.have.length(2);
    const [call, request] = spans;
    expect(request).to.include({
      name: 'envoy.service.auth.v3.Authorization/Check',
      traceId: TRACE,
      parentSpanId: SPAN,
      kind: 2,
    });
    expect(call).to.include({ name: 'deny.denier.mesh-system', traceId: TRACE, parentSpanId: request?.spanId, kind: 1 });
    expect(server.log).to.include('deny.denier.mesh-system').and.include(TRACE);
  });

  it('are sent at the shutdown, and begin traces of their own for callers without one', async () => {
    taken = '';
    await check({});
    expect(await server.stop()).to.equal(0);
    expect(taken).to.include('"deny.denier.mesh-system"');
    const spans = (await spansTaken(4)).slice(2);
    expect(spans).to.have.length(2);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).to.equal(1);
    expect(spans[0]?.traceId).not.to.equal(TRACE);
  });
});

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
}

function spansOf(messages: readonly unknown[]): readonly OtlpSpan[] {
  type Message = {
    readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[];
  };
  return (messages as readonly Message[]).flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );
}
