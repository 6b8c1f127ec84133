import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { expect } from 'chai';
import { createHealthService } from '../../../src/io/grpc/health.ts';
import { createGrpcServer } from '../../../src/io/grpc/server.ts';
import { silentLogger } from '../../../src/io/log/logger.ts';
import { milliseconds, seconds } from '../../../src/lib/duration.ts';
import { type ProbeAction, parseAppProbes } from '../../../src/pilot-agent/app-probe.ts';
import { type ProbeAnswer, probeApplication } from '../../../src/pilot-agent/probe-application.ts';

const problems = (value: unknown): string[] => {
  const parsed = parseAppProbes(JSON.stringify(value));
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
};
const PATH = '/app-health/web/readyz';

describe('probes that injection moved', () => {
  it('are read with the defaults that they have in a manifest', () => {
    const text = JSON.stringify({
      [PATH]: { httpGet: { port: 8080, path: 'ok?x=1', httpHeaders: [{ name: 'Host', value: 'a' }] }, periodSeconds: 3 },
      '/app-health/web/livez': { tcpSocket: { port: 1 }, timeoutSeconds: 5 },
      '/app-health/db-2/startupz': { grpc: { port: 2 } },
      '/app-lifecycle/web/prestop': { httpGet: { port: 8080 } },
    });
    const parsed = parseAppProbes(text);
    expect(parsed.ok && Object.fromEntries(parsed.value)).to.deep.equal({
      [PATH]: {
        type: 'probe',
        action: { kind: 'httpGet', scheme: 'http', port: 8080, path: '/ok?x=1', headers: [['Host', 'a']] },
        timeout: 1000,
      },
      '/app-health/web/livez': { type: 'probe', action: { kind: 'tcpSocket', port: 1 }, timeout: 5000 },
      '/app-health/db-2/startupz': { type: 'probe', action: { kind: 'grpc', port: 2, service: '' }, timeout: 1000 },
      '/app-lifecycle/web/prestop': {
        type: 'hook',
        action: { kind: 'httpGet', scheme: 'http', port: 8080, path: '/', headers: [] },
        timeout: 3_600_000,
      },
    });
  });

  for (const [value, expected] of [
    [[], ': expected an object, got a list'],
    [{ '/other': { tcpSocket: { port: 1 } } }, '/other: is not a path such as /app-health/web/readyz'],
    [{ [PATH]: {} }, `${PATH}.httpGet: exactly one of httpGet, tcpSocket, grpc is needed`],
    [{ [PATH]: { tcpSocket: {} } }, `${PATH}.tcpSocket.port: is required`],
    [{ [PATH]: { tcpSocket: { port: 'http' } } }, `${PATH}.tcpSocket.port: expected a port from 1 to 65535, got "http"`],
    [{ [PATH]: { httpGet: { port: 1, path: '/a b' } } }, `${PATH}.httpGet.path: has characters that a request cannot have`],
    [{ [PATH]: { httpGet: { port: 1, scheme: 'FTP' } } }, `${PATH}.httpGet.scheme: is neither HTTP nor HTTPS`],
    [
      { [PATH]: { httpGet: { port: 1, httpHeaders: [{ name: 'a', value: 'b\r\nc: d' }] } } },
      `${PATH}.httpGet.httpHeaders[0].value: has characters that a header cannot have`,
    ],
    [
      { [PATH]: { tcpSocket: { port: 1 }, timeoutSeconds: 0 } },
      `${PATH}.timeoutSeconds: expected a whole number from 1 to 3600, got 0`,
    ],
  ] as const) {
    it(`are refused: ${expected}`, () => {
      expect(problems(value)).to.deep.equal([expected]);
    });
  }
});

describe('a probe of the application', () => {
  const servers: { close(): unknown }[] = [];
  const gone = new AbortController();
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  const listen = async (server: Server | ReturnType<typeof createTcpServer>): Promise<number> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    return (server.address() as AddressInfo).port;
  };
  const serve = (listener: RequestListener): Promise<number> => listen(createServer(listener));
  const probe = (action: ProbeAction, timeout = seconds(5)): Promise<ProbeAnswer> =>
    probeApplication({ type: 'probe', action, timeout }, '127.0.0.1', gone.signal);
  const http = (port: number, path = '/', headers: readonly (readonly [string, string])[] = []): ProbeAction => ({
    kind: 'httpGet',
    scheme: 'http',
    port,
    path,
    headers,
  });

  it('asks as the kubelet would, from where the proxy passes inbound connections on', async () => {
    let seen: unknown[] = [];
    const port = await serve((request, response) => {
      seen = [request.method, request.url, request.headers.host, request.headers['user-agent'], request.socket.remoteAddress];
      response.end('fine');
    });
    expect(await probe(http(port, '/ok?x=1', [['Host', 'web.example']]))).to.deep.equal({ status: 200, text: 'fine' });
    expect(seen).to.deep.equal(['GET', '/ok?x=1', 'web.example', 'kube-probe/mesh', '127.0.0.6']);
  });

  it('passes a failure on, with what the application says', async () => {
    const port = await serve((_, response) => response.writeHead(503).end('x'.repeat(100_000)));
    const answer = await probe(http(port));
    expect([answer.status, answer.text.length]).to.deep.equal([503, 1024]);
  });

  it('follows redirects within the pod only', async () => {
    const port = await serve((request, response) => {
      const targets: Readonly<Record<string, string>> = { '/a': '/bad', '/out': 'http://example.com/', '/loop': '/loop' };
      const target = targets[request.url ?? ''];
      response.writeHead(target === undefined ? 500 : 302, target === undefined ? {} : { location: target }).end();
    });
    expect((await probe(http(port, '/a'))).status).to.equal(500);
    expect((await probe(http(port, '/out'))).status).to.equal(200);
    expect(await probe(http(port, '/loop'))).to.deep.equal({ status: 503, text: 'the application redirects more than 10 times' });
  });

  it('fails when nobody answers, or not in time', async () => {
    const port = await serve(() => {});
    const late = await probe(http(port), milliseconds(50));
    expect(late).to.deep.equal({ status: 503, text: `the application's port ${port} does not answer in time` });
    const refused = await probe({ kind: 'tcpSocket', port: 1 });
    expect(refused).to.deep.equal({
      status: 503,
      text: "the application's port 1 does not answer: connect ECONNREFUSED 127.0.0.1:1",
    });
  });

  it('has no answer, as a lifecycle hook, where the application has none', async () => {
    const hook = (port: number) =>
      probeApplication({ type: 'hook', action: http(port), timeout: seconds(5) }, '127.0.0.1', gone.signal);
    const port = await serve((_, response) => response.writeHead(500).end('no'));
    expect(await hook(port)).to.deep.equal({ status: 500, text: 'no' });
    expect((await hook(1)).status).to.equal('none');
  });

  it('is content with a connection where that is all that is asked', async () => {
    const port = await listen(createTcpServer((socket) => socket.on('error', () => {})));
    expect((await probe({ kind: 'tcpSocket', port })).status).to.equal(200);
  });

  it('asks the health service over gRPC', async () => {
    const health = createHealthService();
    const server = createGrpcServer({ methods: health.methods }, silentLogger);
    await server.listen({ host: '127.0.0.1', port: 0 });
    servers.push({ close: () => server.close(0) });
    const ask = (service = ''): Promise<ProbeAnswer> => probe({ kind: 'grpc', port: server.port, service });
    expect((await ask()).text).to.equal(`the health service on the application's port ${server.port} says NOT_SERVING`);
    health.set('', 'serving');
    expect(await ask()).to.deep.equal({ status: 200, text: 'the application is serving' });
    expect((await ask('other')).text).to.contain('answers with status 5');
    const plain = await serve((_, response) => response.end('no gRPC'));
    expect((await probe({ kind: 'grpc', port: plain, service: '' })).status).to.equal(503);
  });
});
