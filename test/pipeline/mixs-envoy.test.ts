/** The interfaces that Envoy speaks, of a mixs that runs, by a client of others. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { dump } from 'js-yaml';
import { HTTPAccessLogEntry, TCPAccessLogEntry } from '#gen/envoy/data/accesslog/v3/accesslog.ts';
import { StreamAccessLogsMessage } from '#gen/envoy/service/accesslog/v3/als.ts';
import { CheckRequest, CheckResponse } from '#gen/envoy/service/auth/v3/external_auth.ts';
import { RateLimitRequest, RateLimitResponse, RateLimitResponse_Code } from '#gen/envoy/service/ratelimit/v3/rls.ts';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { type CallResult, GrpcJsClient, playOne } from '../harness/rpc-clients.ts';

const CHECK = '/envoy.service.auth.v3.Authorization/Check';
const LOGS = '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs';
const LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

/** As discovery has sidecars send it. */
const METADATA: readonly (readonly [string, string])[] = [
  ['x-mesh-reporter', 'inbound'],
  ['x-mesh-reporter-node', 'sidecar~10.0.0.2~httpbin-1.foo~foo.svc.cluster.local'],
  ['x-mesh-destination-namespace', 'foo'],
  ['x-mesh-destination-services', 'api.foo.svc.cluster.local,httpbin.foo.svc.cluster.local'],
];

/** What is shown of each request, as headers of checks and as variables of reports. */
const SHOWN: Readonly<Record<string, string>> = {
  'source.principal': 'source.principal',
  'source.namespace': 'source.namespace',
  'source.ip': 'source.ip | ip("0.0.0.0")',
  'destination.principal': 'destination.principal',
  'destination.service.host': 'destination.service.host',
  'destination.service.name': 'destination.service.name',
  'destination.service.uid': 'destination.service.uid',
  'destination.uid': 'destination.uid',
  'request.url_path': 'request.url_path',
  'request.api_key': 'request.api_key',
  'request.auth.principal': 'request.auth.principal',
  'request.auth.audiences': 'request.auth.audiences',
  group: 'request.auth.claims["group"]',
  'context.protocol': 'context.protocol',
  'context.reporter.kind': 'context.reporter.kind',
  'context.reporter.uid': 'context.reporter.uid',
  'connection.sni': 'connection.requested_server_name',
};
const TEXTS = Object.entries(SHOWN).filter(([name]) => name !== 'source.ip');

const address = (text: string, port: number) => ({
  address: {
    $case: 'socketAddress',
    socketAddress: { address: text, portSpecifier: { $case: 'portValue', portValue: port } },
  } as const,
});
const CALLER = 'spiffe://cluster.local/ns/bar/sa/sleep';
const SELF = 'spiffe://cluster.local/ns/foo/sa/httpbin';
const TOKEN = {
  filterMetadata: {
    'envoy.filters.http.jwt_authn': { claims: { iss: 'https://issuer', sub: 'me', aud: ['a', 'b'], group: 'admins', exp: 1 } },
  },
};

const checkRequest = (headers: Readonly<Record<string, string>> = {}, host = 'httpbin.foo:8000'): CheckRequest =>
  CheckRequest.fromPartial({
    attributes: {
      source: { address: address('::ffff:10.0.0.1', 4711), principal: CALLER },
      destination: { address: address('10.0.0.2', 80), principal: SELF },
      request: {
        time: new Date(1_000),
        http: { id: '1', method: 'GET', path: '/a/b?key=k1&key=k2#x', host, scheme: 'http', size: -1, headers: { ...headers } },
      },
      metadataContext: TOKEN,
      tlsSession: { sni: 'outbound_.8000_._.httpbin.foo.svc.cluster.local' },
    },
  });

describe('mixs, as Envoy speaks to it', () => {
  let dir: string;
  let server: InProcess;
  let port: number;
  let monitoringPort: number;
  const client = new GrpcJsClient();

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mixs-'));
    const objects = [
      ruleObject('denier', 'deny', { status: { code: 7, message: 'not today' } }),
      ruleObject('denier', 'late', { status: { code: 14, message: 'later' } }),
      ruleObject('checknothing', 'nothing'),
      ruleObject('rule', 'deny', {
        match: 'request.headers["x-forbidden"] == "yes"',
        actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }],
      }),
      ruleObject('rule', 'deny-port', {
        match: 'context.protocol == "tcp" && destination.port == 25',
        actions: [{ handler: 'late.denier', instances: ['nothing.checknothing'] }],
      }),
      ruleObject('rule', 'show', {
        match: 'context.reporter.kind == "inbound"',
        requestHeaderOperations: [
          ...TEXTS.map(([name, text]) => ({ name: `x-${name}`, values: [text] })),
          { name: 'x-internal', operation: 'REMOVE' },
          { name: 'x-added', operation: 'APPEND', values: ['"one"'] },
        ],
        responseHeaderOperations: [{ name: 'x-answered', values: ['"yes"'] }],
      }),
      ruleObject('quota', 'requests', {
        dimensions: { ip: 'source.ip | ip("0.0.0.0")', user: 'request.headers["user"] | "all"' },
      }),
      ruleObject('memquota', 'mem', { quotas: [{ name: 'requests', maxAmount: 5, validDuration: '1h' }] }),
      ruleObject('rule', 'count', { actions: [{ handler: 'mem.memquota', instances: ['requests.quota'] }] }),
      ruleObject('logentry', 'line', {
        severity: '"info"',
        timestamp: 'context.time',
        variables: {
          ...Object.fromEntries(TEXTS.map(([name, text]) => [name, `${text} | "-"`])),
          code: 'response.code | 0',
          flags: 'response.flags',
          grpc: 'response.grpc_status | "-"',
          took: 'response.duration | connection.duration',
          size: 'response.size | 0',
          received: 'connection.received.bytes | 0',
          error: 'check.error_code | 0',
          why: 'check.error_message | "-"',
          from: 'source.uid | "-"',
          account: 'source.serviceAccount | "-"',
          mutual: 'connection.mtls | false',
          to: 'destination.ip | ip("0.0.0.0")',
          app: 'destination.labels["app"] | "-"',
          ip: 'source.ip | ip("0.0.0.0")',
        },
      }),
      ruleObject('stdio', 'out', { outputAsJson: true }),
      ruleObject('rule', 'tell', { actions: [{ handler: 'out.stdio', instances: ['line.logentry'] }] }),
    ];
    writeFileSync(join(dir, 'rules.yaml'), objects.map((object) => dump(object)).join('---\n'));
    port = await freePort();
    monitoringPort = await freePort();
    server = await InProcess.start(run, serverFlags, { configStoreURL: `fs://${dir}`, port, monitoringPort }, 'serving');
    expect(server.log).not.to.include('configuration refused');
  });

  after(async () => {
    client.close();
    expect(await server?.stop()).to.equal(0);
    rmSync(dir, { recursive: true, force: true });
  });

  const play = (
    path: string,
    messages: readonly Uint8Array[],
    clientStreams = false,
    metadata: typeof METADATA = METADATA,
  ): Promise<CallResult> =>
    playOne(client, { port }, { path, clientStreams, messages: messages.map((bytes) => Buffer.from(bytes)), metadata });

  async function check(request: CheckRequest): Promise<CheckResponse> {
    const { code, message, messages } = await play(CHECK, [CheckRequest.encode(request).finish()]);
    expect(code, message).to.equal(0);
    return CheckResponse.decode(messages[0] ?? new Uint8Array());
  }

  function admission({ httpResponse }: CheckResponse) {
    if (httpResponse?.$case !== 'okResponse') throw new Error('not admitted');
    const { headers, headersToRemove, responseHeadersToAdd } = httpResponse.okResponse;
    const plain = (list: typeof headers) => Object.fromEntries(list.map(({ header }) => [header?.key, header?.value]));
    return { headers: plain(headers), headersToRemove, response: plain(responseHeadersToAdd), options: headers };
  }

  describe('checks', () => {
    it('makes attributes of the request, the certificates, the token and what discovery says of the destination', async () => {
      const { headers, headersToRemove, response, options } = admission(
        await check(checkRequest({ 'content-type': 'text/plain' })),
      );
      expect(headers).to.deep.equal({
        'x-source.principal': 'cluster.local/ns/bar/sa/sleep',
        'x-source.namespace': 'bar',
        'x-destination.principal': 'cluster.local/ns/foo/sa/httpbin',
        'x-destination.service.host': 'httpbin.foo.svc.cluster.local',
        'x-destination.service.name': 'httpbin',
        'x-destination.service.uid': 'istio://foo/services/httpbin',
        'x-destination.uid': 'kubernetes://httpbin-1.foo',
        'x-request.url_path': '/a/b',
        'x-request.api_key': 'k1',
        'x-request.auth.principal': 'https://issuer/me',
        'x-request.auth.audiences': 'a,b',
        'x-group': 'admins',
        'x-context.protocol': 'http',
        'x-context.reporter.kind': 'inbound',
        'x-context.reporter.uid': 'kubernetes://httpbin-1.foo',
        'x-connection.sni': 'outbound_.8000_._.httpbin.foo.svc.cluster.local',
        'x-added': 'one',
      });
      expect(headersToRemove).to.deep.equal(['x-internal']);
      expect(response).to.deep.equal({ 'x-answered': 'yes' });
      expect(options.map(({ append }) => append)).to.include.members([true, false]);
    });

    it('takes the first service of a port for requests that name none of them, and knows gRPC by its content', async () => {
      const { headers } = admission(await check(checkRequest({ 'content-type': 'application/grpc+proto' }, '10.0.0.2')));
      expect(headers).to.include({ 'x-destination.service.name': 'api', 'x-context.protocol': 'grpc' });
    });

    it('refuses with an HTTP status and the message of the handler, and lets the access log know', async () => {
      const { status, httpResponse, dynamicMetadata } = await check(checkRequest({ 'x-forbidden': 'yes' }));
      expect(status).to.include({ code: 7, message: 'deny.denier.mesh-system:not today' });
      if (httpResponse?.$case !== 'deniedResponse') throw new Error('admitted');
      expect(httpResponse.deniedResponse.status?.code).to.equal(403);
      expect(httpResponse.deniedResponse.body).to.equal('PERMISSION_DENIED:deny.denier.mesh-system:not today\n');
      expect(dynamicMetadata).to.deep.equal({ code: 7, message: 'deny.denier.mesh-system:not today' });
    });

    it('decides about connections too', async () => {
      const connection = (to: number): CheckRequest =>
        CheckRequest.fromPartial({ attributes: { destination: { address: address('10.0.0.2', to) } } });
      expect((await check(connection(25))).status?.code).to.equal(14);
      expect((await check(connection(26))).status?.code).to.equal(0);
    });

    it('refuses what is no request, and goes on', async () => {
      const bytes = CheckRequest.encode(checkRequest()).finish();
      for (const length of [1, 10, bytes.length - 1]) expect((await play(CHECK, [bytes.subarray(0, length)])).code).to.equal(3);
      expect((await check(CheckRequest.fromPartial({}))).status?.code).to.equal(0);
    });
  });

  describe('access logs', () => {
    const common = {
      downstreamRemoteAddress: address('1.2.3.4', 1),
      downstreamDirectRemoteAddress: address('10.0.0.1', 4711),
      downstreamLocalAddress: address('10.0.0.2', 80),
      startTime: new Date(1_000),
      duration: { seconds: 0, nanos: 5_000_000 },
      timeToLastDownstreamTxByte: { seconds: 0, nanos: 4_000_000 },
      tlsProperties: {
        tlsSniHostname: 'sni',
        peerCertificateProperties: { subjectAltName: [{ san: { $case: 'uri', uri: CALLER } as const }] },
        localCertificateProperties: { subjectAltName: [{ san: { $case: 'uri', uri: SELF } as const }] },
      },
      responseFlags: { upstreamConnectionFailure: true, unauthorizedDetails: { reason: 1 as const } },
      metadata: {
        filterMetadata: { ...TOKEN.filterMetadata, 'envoy.filters.http.ext_authz': { code: 7, message: 'not today' } },
      },
    };
    const identifier = {
      node: { id: 'sidecar~10.0.0.2~httpbin-1.foo~foo.svc.cluster.local', metadata: { LABELS: { app: 'httpbin', n: 1 } } },
      logName: 'http',
    };
    const lines = (): readonly Record<string, unknown>[] =>
      server.log.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []));
    const logged = async (path: string): Promise<Record<string, unknown>> => {
      await server.logged(`"request.url_path":"${path}"`);
      return lines().find((line) => line['request.url_path'] === path) ?? {};
    };
    const http = (path: string) =>
      StreamAccessLogsMessage.encode(
        StreamAccessLogsMessage.fromPartial({
          identifier,
          logEntries: {
            $case: 'httpLogs',
            httpLogs: {
              logEntry: [
                HTTPAccessLogEntry.fromPartial({
                  commonProperties: common,
                  request: {
                    requestMethod: 1,
                    authority: 'httpbin.foo',
                    path,
                    requestHeaders: { 'content-type': 'application/grpc' },
                  },
                  response: { responseCode: 200, responseBodyBytes: 12, responseTrailers: { 'grpc-status': '5' } },
                }),
              ],
            },
          },
        }),
      ).finish();

    it('makes reports of requests', async () => {
      const { code, messages } = await play(LOGS, [http('/logged')], true);
      expect([code, messages.length]).to.deep.equal([0, 1]);
      expect(await logged('/logged')).to.deep.include({
        time: '1970-01-01T00:00:01.005Z',
        'source.principal': 'cluster.local/ns/bar/sa/sleep',
        'source.namespace': 'bar',
        'destination.service.host': 'httpbin.foo.svc.cluster.local',
        'request.auth.principal': 'https://issuer/me',
        'context.protocol': 'grpc',
        code: 200,
        flags: 'UF,UAEX',
        grpc: '5',
        took: '4ms',
        size: 12,
        error: 7,
        why: 'not today',
        'context.reporter.uid': 'kubernetes://httpbin-1.foo',
        'destination.uid': 'kubernetes://httpbin-1.foo',
        mutual: true,
        app: 'httpbin',
        ip: '10.0.0.1',
      });
    });

    describe('of the side that calls', () => {
      const OUTBOUND = [['x-mesh-reporter', 'outbound']] as const;
      const metadata = { LABELS: { app: 'sleep' }, SERVICE_ACCOUNT: 'sleeper' };
      const caller = { node: { id: 'sidecar~10.0.0.1~sleep-1.bar~bar.svc.cluster.local', metadata }, logName: 'http' };
      const call = async (path: string, upstreamCluster: string): Promise<Record<string, unknown>> => {
        const { tlsProperties: _, metadata: __, ...plain } = common;
        const commonProperties = { ...plain, upstreamCluster, upstreamRemoteAddress: address('10.0.0.2', 80) };
        const request = { requestMethod: 1 as const, authority: 'httpbin.foo', path };
        const httpLogs = { logEntry: [HTTPAccessLogEntry.fromPartial({ commonProperties, request })] };
        const logEntries = { $case: 'httpLogs' as const, httpLogs };
        const message = StreamAccessLogsMessage.fromPartial({ identifier: caller, logEntries });
        await play(LOGS, [StreamAccessLogsMessage.encode(message).finish()], true, OUTBOUND);
        return logged(path);
      };

      it('knows the source by the node that tells, and the destination by what was chosen', async () => {
        expect(await call('/outbound', 'outbound|8000||httpbin.foo.svc.cluster.local')).to.deep.include({
          'context.reporter.kind': 'outbound',
          'context.reporter.uid': 'kubernetes://sleep-1.bar',
          'source.namespace': 'bar',
          'source.principal': '-',
          'destination.service.host': 'httpbin.foo.svc.cluster.local',
          'destination.uid': '-',
          from: 'kubernetes://sleep-1.bar',
          account: 'sleeper',
          mutual: false,
          to: '10.0.0.2',
        });
      });

      it('knows no service of what goes elsewhere', async () => {
        const line = await call('/elsewhere', 'PassthroughCluster');
        expect([line['destination.service.host'], line['to']]).to.deep.equal(['-', '10.0.0.2']);
      });
    });

    it('makes reports of connections', async () => {
      const entry = TCPAccessLogEntry.fromPartial({
        commonProperties: common,
        connectionProperties: { receivedBytes: 9_007, sentBytes: 2 },
      });
      const logEntries = { $case: 'tcpLogs' as const, tcpLogs: { logEntry: [entry] } };
      await play(
        LOGS,
        [StreamAccessLogsMessage.encode(StreamAccessLogsMessage.fromPartial({ identifier, logEntries })).finish()],
        true,
      );
      await server.logged('"received":9007');
      expect(lines().find((line) => line['received'] === 9_007)).to.deep.include({ 'context.protocol': 'tcp', took: '5ms' });
    });

    it('leaves out what it cannot read, counts it, and takes the rest of the stream', async () => {
      const { code } = await play(LOGS, [http('/before'), Buffer.from([10, 200, 1]), http('/behind')], true);
      expect(code).to.equal(0);
      await logged('/before');
      await logged('/behind');
      const metrics = await (await fetch(`http://127.0.0.1:${monitoringPort}/metrics`)).text();
      expect(metrics).to.include('mixs_api_requests_total{method="StreamAccessLogs",status="malformed"} 1');
      expect(metrics).to.match(/mixs_api_requests_total\{method="StreamAccessLogs",status="received"\} [3-9]/);
    });
  });

  describe('rate limits', () => {
    const limit = async (domain: string, entries: Readonly<Record<string, string>>, hitsAddend = 0): Promise<CallResult> => {
      const descriptor = { entries: Object.entries(entries).map(([key, value]) => ({ key, value })) };
      return play(LIMIT, [
        RateLimitRequest.encode(RateLimitRequest.fromPartial({ domain, descriptors: [descriptor], hitsAddend })).finish(),
      ]);
    };
    const verdict = async (...request: Parameters<typeof limit>): Promise<number | undefined> => {
      const { messages } = await limit(...request);
      return RateLimitResponse.decode(messages[0] ?? new Uint8Array()).overallCode;
    };

    it('takes the amount of the quota that the domain names, for what the descriptor says', async () => {
      const { OK, OVER_LIMIT } = RateLimitResponse_Code;
      expect(await verdict('requests', { remote_address: '10.0.0.7' }, 3)).to.equal(OK);
      expect(await verdict('requests', { remote_address: '10.0.0.7' }, 3)).to.equal(OVER_LIMIT);
      expect(await verdict('requests', { remote_address: '10.0.0.7' })).to.equal(OK);
      expect(await verdict('requests', { 'source.ip': '::ffff:10.0.0.7' }, 2)).to.equal(OVER_LIMIT);
      expect(await verdict('requests', { remote_address: '10.0.0.7', user: 'me' }, 5)).to.equal(OK);
    });

    it('says so when nobody counts the domain', async () => {
      const { code, message } = await limit('request', {});
      expect([code, message]).to.deep.equal([5, 'domain: no rule allocates a quota "request"']);
    });
  });
});
