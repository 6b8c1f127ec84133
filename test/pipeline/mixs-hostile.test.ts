/** Each interface of mixs under messages that are none, too much or too many, and over handlers that fail. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { HTTPAccessLogEntry, TCPAccessLogEntry } from '#gen/envoy/data/accesslog/v3/accesslog.ts';
import { StreamAccessLogsMessage } from '#gen/envoy/service/accesslog/v3/als.ts';
import { CheckRequest as AuthRequest, CheckResponse as AuthResponse } from '#gen/envoy/service/auth/v3/external_auth.ts';
import { RateLimitRequest, RateLimitResponse, RateLimitResponse_Code } from '#gen/envoy/service/ratelimit/v3/rls.ts';
import { CheckRequest, CheckResponse, ReportRequest } from '#gen/istio/mixer/v1/mixer.ts';
import type { CheckResult, Handler, QuotaResult } from '../../src/mixs/adapter/adapter.ts';
import { GLOBAL_WORDS } from '../../src/mixs/attribute/global-words.ts';
import { compressed } from '../fakes/compressed-attributes.ts';
import { type Bounds, type MixsWithHandlers, mixsWithHandlers } from '../harness/mixs-with-handlers.ts';
import { type CallResult, GrpcJsClient, playOne } from '../harness/rpc-clients.ts';

const MAX_MESSAGE = 65_536;
const GRANTED: CheckResult = { status: { code: 0, message: '' }, validMs: 1_000, validUses: 1 };
const ALLOCATED: QuotaResult = { status: { code: 0, message: '' }, granted: 1, validMs: 0 };
const globalWordCount = GLOBAL_WORDS.length;

const attributes = (namespace: string): Uint8Array =>
  compressed({ words: [namespace], strings: [[GLOBAL_WORDS.indexOf('source.namespace'), -1]] });
const identity = (namespace: string): string => `spiffe://cluster.local/ns/${namespace}/sa/x`;
const tlsProperties = (namespace: string) => ({
  peerCertificateProperties: { subjectAltName: [{ san: { $case: 'uri', uri: identity(namespace) } as const }] },
});
const httpEntry = (namespace: string, path = '/') =>
  HTTPAccessLogEntry.fromPartial({ commonProperties: { tlsProperties: tlsProperties(namespace) }, request: { path } });
const logs = (logEntries: StreamAccessLogsMessage['logEntries'], node?: object): Uint8Array =>
  StreamAccessLogsMessage.encode(
    StreamAccessLogsMessage.fromPartial({ logEntries, ...(node === undefined ? {} : { identifier: { node } }) }),
  ).finish();
const httpLogs = (entries: readonly HTTPAccessLogEntry[], node?: object): Uint8Array =>
  logs({ $case: 'httpLogs', httpLogs: { logEntry: [...entries] } }, node);

/** One interface: how it is called for a caller of a namespace, and what its answer says. */
interface Interface {
  readonly path: string;
  readonly isStream?: boolean;
  message(namespace: string): Uint8Array;
  /** The code of the decision. */
  decided?(answer: Buffer): number;
}

const STREAM = { path: '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs', isStream: true };
const INTERFACES: Readonly<Record<string, Interface>> = {
  'Check of Mixer': {
    path: '/istio.mixer.v1.Mixer/Check',
    message: (namespace) =>
      CheckRequest.encode(CheckRequest.fromPartial({ attributes: attributes(namespace), globalWordCount })).finish(),
    decided: (answer) => CheckResponse.decode(answer).precondition?.status?.code ?? 0,
  },
  'Report of Mixer': {
    path: '/istio.mixer.v1.Mixer/Report',
    message: (namespace) =>
      ReportRequest.encode(ReportRequest.fromPartial({ attributes: [attributes(namespace)], globalWordCount })).finish(),
  },
  'Check of Envoy': {
    path: '/envoy.service.auth.v3.Authorization/Check',
    message: (namespace) =>
      AuthRequest.encode(AuthRequest.fromPartial({ attributes: { source: { principal: identity(namespace) } } })).finish(),
    decided: (answer) => AuthResponse.decode(answer).status?.code ?? 0,
  },
  'the log of requests': { ...STREAM, message: (namespace) => httpLogs([httpEntry(namespace)]) },
  'the log of connections': {
    ...STREAM,
    message: (namespace) => {
      const entry = TCPAccessLogEntry.fromPartial({ commonProperties: { tlsProperties: tlsProperties(namespace) } });
      return logs({ $case: 'tcpLogs', tcpLogs: { logEntry: [entry] } });
    },
  },
  'rate limits': {
    path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
    message: (namespace) => {
      const descriptors = [{ entries: [{ key: 'source.namespace', value: namespace }] }];
      return RateLimitRequest.encode(RateLimitRequest.fromPartial({ domain: 'count', descriptors })).finish();
    },
    decided: (answer) => (RateLimitResponse.decode(answer).overallCode === RateLimitResponse_Code.OK ? 0 : 8),
  },
};

describe('mixs among hostile clients and broken handlers', function () {
  this.timeout(120_000);
  const client = new GrpcJsClient();
  let mixs: MixsWithHandlers;

  const serve = async (handlers: Readonly<Record<string, Partial<Handler>>>, bounds?: Bounds): Promise<void> => {
    mixs = await mixsWithHandlers(handlers, { maxMessageSize: MAX_MESSAGE, ...bounds });
  };
  const send = ({ path, isStream = false }: Interface, ...messages: readonly Uint8Array[]): Promise<CallResult> =>
    playOne(
      client,
      { port: mixs.port },
      { path, clientStreams: isStream, messages: messages.map((bytes) => Buffer.from(bytes)) },
    );
  const metric = async (name: string): Promise<number> => {
    const line = (await mixs.metrics.registry.metrics()).split('\n').find((text) => text.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? 0);
  };
  /** The code of a call, or else of what it decided. */
  const outcome = async (one: Interface, ...messages: readonly Uint8Array[]): Promise<number> => {
    const { code, messages: answers } = await send(one, ...messages);
    const [answer] = answers;
    return code === 0 && answer !== undefined && one.decided !== undefined ? one.decided(answer) : code;
  };
  /** Does something while all interfaces are in use, and shows that all others are served. */
  const amongOthers = async <T>(work: () => Promise<T>): Promise<T> => {
    const all = Object.values(INTERFACES);
    const ask = (): Promise<number[]> => Promise.all(all.map((one) => outcome(one, one.message('fine'))));
    const [before, result] = await Promise.all([ask(), work()]);
    expect([...before, ...(await ask())]).to.deep.equal(Array(2 * all.length).fill(0));
    return result;
  };

  afterEach(() => mixs.server.close(0));

  const fine: Partial<Handler> = { check: () => GRANTED, quota: () => ALLOCATED, report: () => {} };

  for (const [name, one] of Object.entries(INTERFACES)) {
    describe(name, () => {
      it('refuses a message that is too long', async () => {
        await serve({ fine });
        const { code, message } = await amongOthers(() => send(one, new Uint8Array(MAX_MESSAGE + 1)));
        expect(code).to.equal(8);
        expect(message).to.include(String(MAX_MESSAGE));
      });

      it('leaves out or refuses what is cut off', async () => {
        const namespaces: number[] = [];
        await serve({ fine: { ...fine, report: (instances) => void namespaces.push(instances.length) } });
        const whole = one.message('fine');
        const cut = whole.subarray(0, -1);
        if (one.isStream !== true) {
          const { code, messages } = await amongOthers(() => send(one, cut));
          expect([code, messages]).to.deep.equal([3, []]);
          return;
        }
        expect((await send(one, whole, cut, whole)).code).to.equal(0);
        expect(namespaces).to.deep.equal([1, 1]);
        expect(await metric('mixs_api_requests_total{method="StreamAccessLogs",status="malformed"}')).to.equal(1);
        await amongOthers(async () => {});
      });

      it('takes what is no message for nothing worse', async () => {
        await serve({ fine });
        await amongOthers(async () => {
          for (const first of [0x00, 0x07, 0x0a, 0x12, 0x7f, 0x80, 0xff]) {
            const { code } = await send(
              one,
              Uint8Array.from({ length: 999 }, (_, i) => (first + i * 31) % 256),
            );
            expect(code).to.be.oneOf([0, 3]);
          }
        });
      });

      for (const [what, fail] of Object.entries({
        throws: () => {
          throw new Error('broken');
        },
        rejects: () => Promise.reject(new Error('broken later')),
        hangs: () => new Promise<never>(() => {}),
      })) {
        it(`answers when a handler ${what}`, async () => {
          await serve({ fine, bad: { check: fail, quota: fail, report: fail } }, { handlerLimitMs: 200 });
          const code = await amongOthers(() => outcome(one, one.message('bad')));
          if (one.decided === undefined) expect(code).to.equal(0);
          else expect(code).to.equal(name === 'rate limits' ? 14 : what === 'hangs' ? 4 : 13);
          const counted = `mixs_adapter_calls_total{handler="bad.noop.mesh-system",adapter="noop"`;
          const ofBad = (await mixs.metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(counted));
          expect(ofBad.join('\n')).to.match(what === 'hangs' ? /outcome="timed out"\} 1$/ : /outcome="failed"\} 1$/);
        });
      }
    });
  }

  it('says who speaks by what the stream says, or not at all', async () => {
    const labels: number[] = [];
    await serve({ fine: { ...fine, report: (instances) => void labels.push(instances.length) } });
    const one = INTERFACES['the log of requests'] as Interface;
    const nodes = [
      undefined,
      {},
      { id: '' },
      { id: '~~~' },
      { id: `sidecar~x~${'y'.repeat(30_000)}~z` },
      { id: 'a', metadata: { LABELS: 5 } },
    ];
    for (const node of nodes) expect((await send(one, httpLogs([httpEntry('fine')], node))).code).to.equal(0);
    expect(labels).to.deep.equal(nodes.map(() => 1));
  });

  it('keeps metrics of a bounded number of names, whatever clients ask for', async () => {
    await serve({ fine });
    const quotas = (call: number) => Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`q-${call}-${i}`, { amount: 1 }]));
    for (let call = 0; call < 20; call++) {
      const check = CheckRequest.encode(CheckRequest.fromPartial({ globalWordCount, quotas: quotas(call) })).finish();
      expect((await send(INTERFACES['Check of Mixer'] as Interface, check)).code).to.equal(0);
      const domain = RateLimitRequest.encode(
        RateLimitRequest.fromPartial({ domain: `d-${call}`, descriptors: [{ entries: [] }] }),
      );
      expect((await send(INTERFACES['rate limits'] as Interface, domain.finish())).code).to.equal(5);
    }
    const text = await mixs.metrics.registry.metrics();
    expect(text.match(/^mixs_instances_skipped_total\{.*/gm)).to.deep.equal([
      'mixs_instances_skipped_total{instance="(unknown quota)"} 2020',
    ]);
  });

  it('takes ten thousand entries of a message, in portions, and leaves out the others', async () => {
    const portions: number[] = [];
    await serve(
      { fine: { ...fine, report: (instances) => void portions.push(instances.length) } },
      { maxMessageSize: 1_048_576 },
    );
    const entry = HTTPAccessLogEntry.encode(httpEntry('fine')).finish();
    const entries = Buffer.concat(Array(10_001).fill(Buffer.concat([Uint8Array.of(0x0a, entry.length), entry])));
    const length = Uint8Array.of(0x80 | (entries.length & 0x7f), 0x80 | ((entries.length >> 7) & 0x7f), entries.length >> 14);
    const message = Buffer.concat([Uint8Array.of(0x12), length, entries]);
    const result = await amongOthers(() => send(INTERFACES['the log of requests'] as Interface, message));
    expect(result.code).to.equal(0);
    const ofTheMessage = portions.filter((size) => size > 1);
    expect(ofTheMessage).to.deep.equal(Array(100).fill(100));
    expect(await metric('mixs_api_requests_total{method="StreamAccessLogs",status="malformed"}')).to.equal(1);
  });

  it('serves a thousand streams of the log at once, over one connection and over a thousand, and keeps nothing of them', async () => {
    let reports = 0;
    const report: Handler['report'] = (instances) => {
      reports += instances.length;
    };
    await serve({ fine: { ...fine, report } });
    const message = httpLogs(Array(10).fill(httpEntry('fine', '/'.padEnd(300, 'x'))));
    const script = { path: STREAM.path, clientStreams: true, messages: Array(2).fill(Buffer.from(message)) };
    const used: number[] = [];
    for (const connections of [1_000, 1, 1_000]) {
      reports = 0;
      const results = await amongOthers(() => client.play({ port: mixs.port }, script, 1_000, connections));
      expect(results.filter(({ code }) => code !== 0)).to.deep.equal([]);
      expect(reports).to.be.at.least(1_000 * 2 * 10);
      used.push(memoryInUse());
    }
    const [warm = 0] = used;
    // Connections that were closed are gone a moment later.
    while (memoryInUse() - warm > 10_000_000) await new Promise((resolve) => setTimeout(resolve, 100));
  }).timeout(300_000);

  it('lets streams wait that send more than handlers take, and loses nothing of theirs', async () => {
    const slow: (() => void)[] = [];
    let reports = 0;
    let isSlow = true;
    const report: Handler['report'] = (instances) => {
      reports += instances.length;
      return isSlow ? new Promise((resolve) => slow.push(resolve)) : undefined;
    };
    await serve({ fine, slow: { ...fine, report } }, { apiWorkers: 2, handlerLimitMs: 30_000 });
    const message = httpLogs([httpEntry('slow')]);
    const script = { path: STREAM.path, clientStreams: true, messages: Array(3).fill(Buffer.from(message)) };
    const streams = client.play({ port: mixs.port }, script, 100, 10);
    while (slow.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(reports).to.equal(2);
    isSlow = false;
    for (const goOn of slow) goOn();
    expect((await streams).map(({ code }) => code)).to.deep.equal(Array(100).fill(0));
    expect(reports).to.equal(300);
  });
});

/** Bytes that are used after what is not needed has gone. */
function memoryInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
}
