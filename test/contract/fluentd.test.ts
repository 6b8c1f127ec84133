/** What gets to a server of Fluentd's forward protocol, whatever becomes of it. */
import { encode } from '@msgpack/msgpack';
import { expect } from 'chai';
import type { Handler } from '../../src/mixs/adapter/adapter.ts';
import { openFluentd } from '../../src/mixs/adapter/fluentd.ts';
import { fluentd } from '../../src/rules/adapter/fluentd.ts';
import type { TypedValue } from '../../src/rules/attribute/value.ts';
import { adapterEnvironment } from '../fakes/adapter-environment.ts';
import { type FluentAnswer, FluentServer } from '../harness/fluent-server.ts';
import { freePort } from '../harness/free-port.ts';

const TIME = 1_527_854_400_123_456_789n;
const TAG = 'line.logentry.mesh-system';
const text = (value: string): TypedValue => ({ type: 'STRING', value });

describe('the fluentd adapter', function () {
  this.timeout(120_000);
  const servers: FluentServer[] = [];
  const handlers: Handler[] = [];

  const serverWith = (answers: readonly FluentAnswer[] = [], otherwise: FluentAnswer = 'ack'): FluentServer => {
    const server = new FluentServer(answers, otherwise);
    servers.push(server);
    return server;
  };

  function handlerTo(port: number, spec: object = {}) {
    const parsed = fluentd.parse({ address: `127.0.0.1:${port}`, pushIntervalDuration: '10ms', ...spec }, []);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    let chunk = 0;
    const environment = { ...adapterEnvironment(), random: () => (chunk++ % 256) / 256 };
    const handler = openFluentd(parsed.value, environment);
    handlers.push(handler);
    const report = (variables: Readonly<Record<string, TypedValue>>, name = TAG): void => {
      const values = { name, variables, timestamp: TIME, severity: 'info', monitoredResourceDimensions: {} };
      void handler.report?.([{ template: 'logentry', values }], { signal: environment.signal });
    };
    const numbered = (from: number, to: number): void => {
      for (let n = from; n < to; n++) report({ n: { type: 'INT64', value: BigInt(n) } });
    };
    const { losses, logger } = environment;
    return { handler, report, numbered, losses, logger };
  }

  const numbersOf = (server: FluentServer): readonly number[] => server.taken.map(({ record }) => Number(record['n']));
  const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
  const patience = (): AbortSignal => AbortSignal.timeout(100_000);

  afterEach(async () => {
    for (const handler of handlers.splice(0)) await handler.close(AbortSignal.abort());
    for (const server of servers.splice(0)) await server.stop();
  });

  it('sends what an entry holds, with its tag, its time and its severity', async () => {
    const server = await serverWith().start();
    const { report, handler, losses } = handlerTo(server.port);
    report({
      text: text('ä'),
      int: { type: 'INT64', value: 2n ** 62n },
      double: { type: 'DOUBLE', value: 2 },
      yes: { type: 'BOOL', value: true },
      time: { type: 'TIMESTAMP', value: TIME },
      ip: { type: 'IP_ADDRESS', value: '10.0.0.1' },
      took: { type: 'DURATION', value: 1_500_000n },
      labels: { type: 'STRING_MAP', value: new Map([['app', 'httpbin']]) },
    });
    report({ tag: text('access'), path: text('/') });
    await handler.close(patience());
    expect(server.taken).to.deep.equal([
      {
        tag: TAG,
        time: TIME,
        record: {
          text: 'ä',
          int: 2n ** 62n,
          double: 2,
          yes: true,
          time: '2018-06-01T12:00:00.123456789Z',
          ip: '10.0.0.1',
          took: '1.5ms',
          labels: { app: 'httpbin' },
          severity: 'info',
        },
      },
      { tag: 'access', time: TIME, record: { path: '/', severity: 'info', name: TAG } },
    ]);
    expect(server.messages.map(({ size }) => size)).to.deep.equal([1, 1]);
    expect(losses.size).to.equal(0);
  });

  it('writes spans of time as milliseconds where it shall', async () => {
    const server = await serverWith().start();
    const { report, handler } = handlerTo(server.port, { integerDuration: true });
    report({ took: { type: 'DURATION', value: 1_999_999n } });
    await handler.close(patience());
    expect(server.taken[0]?.record['took']).to.equal(1);
  });

  it('keeps entries while the server is not there yet', async () => {
    const port = await freePort();
    const server = serverWith();
    const { numbered, losses, logger } = handlerTo(port);
    numbered(0, 3);
    await logger.until(1);
    expect(logger.entries[0]).to.deep.include({ level: 'warn' });
    expect(logger.entries[0]?.fields['reason']).to.include(`127.0.0.1:${port}: connect ECONNREFUSED`);
    await server.start(port);
    await server.until(() => server.taken.length === 3);
    expect(numbersOf(server)).to.deep.equal([0, 1, 2]);
    await logger.until(2);
    expect(logger.entries[1]).to.deep.include({ level: 'info', message: 'a back end takes records again' });
    expect(losses.size).to.equal(0);
  });

  it('sends again what a server has not acknowledged when it goes, and nothing that it has', async () => {
    const server = await serverWith(['ack', 'silence']).start();
    const { numbered, losses } = handlerTo(server.port);
    numbered(0, 2);
    await server.until(() => server.taken.length === 2);
    numbered(2, 5);
    await server.until(() => server.messages.length === 2);
    await server.stop();
    numbered(5, 7);
    await server.start();
    await server.until(() => server.taken.length >= 7);
    expect(numbersOf(server)).to.deep.equal(range(7));
    expect(losses.size).to.equal(0);
  });

  it('notices that a server has gone while there was nothing to send', async () => {
    const server = await serverWith().start();
    const { numbered, logger } = handlerTo(server.port);
    numbered(0, 1);
    await server.until(() => server.taken.length === 1);
    await server.stop();
    await server.start();
    numbered(1, 2);
    await server.until(() => server.taken.length === 2);
    expect(numbersOf(server)).to.deep.equal([0, 1]);
    expect(logger.entries).to.deep.equal([]);
  });

  it('sends again what a server cuts off, drops, or answers with something else', async () => {
    const answers: readonly FluentAnswer[] = [
      'close',
      'drop',
      encode({ ack: 'another chunk' }),
      encode(['HELO', { nonce: 'a', auth: '', keepalive: true }]),
      Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
      Buffer.concat([Buffer.from([0x8f]), ...range(30).map(() => Buffer.from(encode('x'.repeat(100))))]),
    ];
    for (const answer of answers) {
      const server = await serverWith([answer]).start();
      const { numbered, losses } = handlerTo(server.port);
      numbered(0, 2);
      await server.until(() => server.taken.length === 2);
      expect(numbersOf(server)).to.deep.equal([0, 1]);
      expect(losses.size, String(answer)).to.equal(0);
      expect(server.connections).to.equal(2);
      const chunks = server.messages.map(({ chunk }) => chunk);
      expect(new Set(chunks).size).to.equal(chunks.length);
    }
  });

  it('sends again what a server lets lie', async () => {
    const server = await serverWith(['silence']).start();
    const { numbered, losses } = handlerTo(server.port, { pushTimeoutDuration: '200ms' });
    numbered(0, 2);
    await server.until(() => server.taken.length >= 2);
    expect(server.connections).to.be.greaterThan(1);
    expect(new Set(numbersOf(server))).to.deep.equal(new Set([0, 1]));
    expect(losses.size).to.equal(0);
  });

  it('takes an acknowledgement that comes in pieces', async () => {
    const server = await serverWith(['piecemeal']).start();
    const { numbered, handler } = handlerTo(server.port);
    numbered(0, 1);
    await handler.close(patience());
    expect([server.messages.length, server.taken.length, server.connections]).to.deep.equal([1, 1, 1]);
  });

  it('does not repeat a tag of a batch whose other tag was not acknowledged', async () => {
    const server = await serverWith(['ack', 'drop']).start();
    const { report, handler, losses } = handlerTo(server.port, { pushIntervalDuration: '1m' });
    for (const name of ['one', 'two', 'one']) report({}, name);
    await handler.close(patience());
    expect(server.messages.map(({ tag, entries }) => `${tag} ${entries.length}`)).to.deep.equal(['one 2', 'two 1', 'two 1']);
    expect(server.taken.map(({ tag }) => tag)).to.deep.equal(['one', 'one', 'two']);
    expect(losses.size).to.equal(0);
  });

  it('waits for a slow server with one message, keeps a bounded number of entries, and counts the others', async () => {
    const server = await serverWith(['hold']).start();
    const { numbered, handler, losses } = handlerTo(server.port, { instanceBufferSize: 10 });
    numbered(0, 4);
    await server.until(() => server.messages.length === 1);
    numbered(4, 15);
    expect(losses.get('queue full')).to.equal(5);
    expect(server.messages).to.have.length(1);
    server.release();
    await handler.close(patience());
    expect(numbersOf(server)).to.deep.equal(range(10));
  });

  it('gives up a server that never acknowledges when it is closed, and counts what is lost', async () => {
    const server = await serverWith([], 'silence').start();
    const { numbered, handler, losses } = handlerTo(server.port, { instanceBufferSize: 5, pushTimeoutDuration: '10ms' });
    numbered(0, 8);
    expect(losses.get('queue full')).to.equal(3);
    await server.until(() => server.messages.length >= 2);
    const stop = new AbortController();
    const closed = handler.close(stop.signal);
    stop.abort();
    await closed;
    expect(losses.get('shutdown')).to.equal(5);
    expect(server.taken).to.deep.equal([]);
  });

  it('sends what waits when it is closed, at once, also behind a failure', async () => {
    const port = await freePort();
    const { numbered, handler, losses, logger } = handlerTo(port);
    numbered(0, 3);
    await logger.until(1);
    const server = await serverWith().start(port);
    await handler.close(patience());
    expect(numbersOf(server)).to.deep.equal([0, 1, 2]);
    expect(losses.size).to.equal(0);
  });

  it('sends no message larger than it may', async () => {
    const server = await serverWith().start();
    const { report, handler, losses } = handlerTo(server.port, { maxBatchSizeBytes: 1024, pushIntervalDuration: '1m' });
    for (let n = 0; n < 5; n++) report({ text: text('x'.repeat(400)) });
    report({ text: text('x'.repeat(2_000)) });
    await handler.close(patience());
    expect(server.messages.map(({ size }) => size)).to.deep.equal([2, 2, 1]);
    expect(losses.get('queue full')).to.equal(1);
  });
});

describe('the parameters of fluentd', () => {
  it('are those of peers', () => {
    expect(fluentd.parse({}, [])).to.deep.equal({
      ok: true,
      value: {
        host: 'localhost',
        port: 24_224,
        integerDuration: false,
        instanceBufferSize: 1024,
        maxBatchSizeBytes: 8_388_608,
        pushIntervalDuration: 60_000,
        pushTimeoutDuration: 60_000,
      },
    });
  });

  for (const spec of [
    { address: 'fluentd' },
    { address: 'fluentd:0' },
    { integerDuration: 'yes' },
    { instanceBufferSize: 0 },
    { maxBatchSizeBytes: 10 },
    { pushIntervalDuration: '0s' },
    { pushTimeoutDuration: '1h' },
    { bufferSize: 1 },
  ]) {
    it(`are refused with ${JSON.stringify(spec)}`, () => {
      const parsed = fluentd.parse(spec, []);
      expect(parsed.ok ? [] : parsed.problems.map(({ path }) => path)).to.deep.equal(Object.keys(spec));
    });
  }
});
