import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { milliseconds } from '../../../../src/lib/duration.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { openZipkin } from '../../../../src/mixs/adapter/zipkin.ts';
import { postJson } from '../../../../src/mixs/telemetry/post-json.ts';
import { zipkin } from '../../../../src/rules/adapter/zipkin.ts';
import { adapterEnvironment } from '../../../fakes/adapter-environment.ts';
import { spanInstance } from '../../../fakes/spans.ts';

describe('telemetry over HTTP', () => {
  let server: Server;
  let url: string;
  let answer: (response: ServerResponse) => void;
  let bodies: string[];

  beforeEach((done) => {
    bodies = [];
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += String(chunk);
      });
      request.on('end', () => {
        bodies.push(body);
        answer(response);
      });
    });
    server.listen(0, '127.0.0.1', () => {
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      done();
    });
  });

  afterEach((done) => {
    server.closeAllConnections();
    server.close(() => done());
  });

  const codeOf = (deadlineMs: number): Promise<string> =>
    postJson(`${url}/`, '{}', milliseconds(deadlineMs), new AbortController().signal).catch(
      (thrown: unknown) => MeshError.from(thrown).code,
    );

  for (const [status, code] of [
    [503, 'unavailable'],
    [429, 'unavailable'],
    [408, 'unavailable'],
    [400, 'invalid'],
    [302, 'invalid'],
  ] as const) {
    it(`takes ${status} for ${code}`, async () => {
      answer = (response) => response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end('no');
      expect(await codeOf(5_000)).to.equal(code);
    });
  }

  it('waits no longer than the deadline, whatever has come of the answer', async () => {
    answer = () => {};
    expect(await codeOf(50)).to.equal('deadline_exceeded');
    answer = (response) => void response.writeHead(200).write('{');
    expect(await codeOf(50)).to.equal('deadline_exceeded');
  });

  it('reads no more of an answer than it needs', async () => {
    answer = (response) => response.end('x'.repeat(1_000_000));
    expect((await codeOf(5_000)).length).to.be.below(100_000);
  });

  it('sends whole traces or nothing of them where only a part is asked for', async () => {
    answer = (response) => response.writeHead(202).end();
    const environment = adapterEnvironment();
    const params = zipkin.parse({ url, sampleProbability: 0.5 }, []);
    if (!params.ok) throw new Error('the handler is not right');
    const handler = openZipkin(params.value, environment);
    for (const half of ['00000000', '7fffffff', '80000000', 'ffffffff']) {
      const traceId = `463ac35c9f6413ad48485a39${half}`;
      await handler.report?.([spanInstance({ traceId }), spanInstance({ traceId, clientSpan: false })], {
        signal: environment.signal,
      });
    }
    await handler.close(AbortSignal.timeout(60_000));
    const sent = bodies.flatMap((body) => JSON.parse(body) as readonly { readonly traceId: string }[]);
    expect(sent.map(({ traceId }) => traceId.slice(-8))).to.deep.equal(['00000000', '00000000', '7fffffff', '7fffffff']);
  });
});
