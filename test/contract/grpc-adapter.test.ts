import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { CheckResult, Handler, QuotaRequest, QuotaResult } from '../../src/mixs/adapter/adapter.ts';
import { openGrpcAdapter } from '../../src/mixs/adapter/grpcadapter.ts';
import type { HandlerCondition } from '../../src/mixs/adapter/handler-conditions.ts';
import { grpcadapter } from '../../src/rules/adapter/grpcadapter.ts';
import { adapterEnvironment, type TestEnvironment } from '../fakes/adapter-environment.ts';
import { compiledInstance } from '../fakes/rule-instances.ts';
import { freePort } from '../harness/free-port.ts';
import { requireGrpcAdapter, SampleAdapter, type SampleReport } from '../harness/grpc-adapter.ts';
import { TestRoot } from '../harness/test-authority.ts';

const POLL_MS = 10;
/** Longer than any answer takes on a busy machine. */
const PATIENT = '5s';
const SENT = [
  compiledInstance('listentry', 'who', { value: 'source.name' }),
  compiledInstance('quota', 'requests', { dimensions: { source: 'source.name' } }),
  compiledInstance('metric', 'size', { value: 'response.size', dimensions: { source: 'source.name' } }),
];

interface Open {
  readonly handler: Handler;
  readonly environment: TestEnvironment;
  check(who: string): Promise<CheckResult>;
  quota(request: Partial<QuotaRequest>, who?: string): Promise<QuotaResult>;
  report(size: bigint): void;
  condition(): HandlerCondition;
  /** Resolves when the handler's condition is so. */
  until(is: (condition: HandlerCondition) => boolean): Promise<void>;
}

/** Handlers of the sample, a program of its own in Go. */
describe('a gRPC adapter', function () {
  this.timeout(120_000);
  let sample: SampleAdapter;
  let opened: Open[] = [];

  before(async function () {
    sample = new SampleAdapter(requireGrpcAdapter(this), await freePort());
    await sample.start();
  });

  afterEach(async () => {
    for (const { handler, environment } of opened) {
      await handler.close(AbortSignal.timeout(60_000));
      environment.end();
    }
    opened = [];
  });

  after(() => sample?.remove());

  function open(spec: object): Open {
    const parsed = grpcadapter.parse(
      { address: `127.0.0.1:${sample.port}`, templates: ['listentry', 'quota', 'metric'], deadline: PATIENT, ...spec },
      SENT,
    );
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const environment = adapterEnvironment(undefined, () => performance.now());
    const handler = openGrpcAdapter(parsed.value, environment);
    const call = { signal: environment.signal };
    const given = async <T>(answer: T | Promise<T> | undefined): Promise<T> => {
      if (answer === undefined) throw new Error('there is no answer');
      return await answer;
    };
    const condition = (): HandlerCondition => {
      const found = environment.conditions.of(environment.handler);
      if (found === undefined) throw new Error('the handler shows nothing');
      return found;
    };
    const all: Open = {
      handler,
      environment,
      check: (who) => given(handler.check?.({ template: 'listentry', values: { name: 'who.listentry.ns', value: who } }, call)),
      quota: (request, who = 'me') => {
        const values = { name: 'requests.quota.ns', dimensions: { source: { type: 'STRING', value: who } as const } };
        return given(handler.quota?.(values, { amount: 1, bestEffort: false, deduplicationId: '', ...request }, call));
      },
      report: (size) => {
        const value = { type: 'INT64', value: size } as const;
        const values = { name: 'size.metric.ns', value, dimensions: {}, monitoredResourceDimensions: {} };
        void handler.report?.([{ template: 'metric', values }], call);
      },
      condition,
      until: async (is) => {
        while (!is(condition())) await sleep(POLL_MS);
      },
    };
    opened.push(all);
    return all;
  }

  /** Resolves when the adapter decides, and refuses. */
  async function refuses(check: Open['check']): Promise<void> {
    while ((await check('mallory')).status.code !== 7) await sleep(POLL_MS);
  }

  async function reported(count: number): Promise<readonly SampleReport[]> {
    while (sample.reports().length < count) await sleep(POLL_MS);
    return sample.reports();
  }

  it('decides, and says how long that holds', async () => {
    const { check } = open({ params: { deny: ['mallory'], message: 'not you' }, validDuration: '7s' });
    expect(await check('alice')).to.deep.equal({
      status: { code: 0, message: '' },
      validMs: 7_000,
      validUses: Number.POSITIVE_INFINITY,
    });
    expect(await check('mallory')).to.deep.include({ status: { code: 7, message: 'not you' }, validMs: 2_000 });
  });

  it('counts quotas by their dimensions, knows calls that are tried again, and gives what is left', async () => {
    const { quota } = open({ params: { quota: 5, refill: '24h' } });
    const granted = async (request: Partial<QuotaRequest>, who?: string): Promise<number> => (await quota(request, who)).granted;
    expect(await granted({ amount: 3, deduplicationId: 'a' })).to.equal(3);
    expect(await granted({ amount: 3, deduplicationId: 'a' })).to.equal(3);
    expect(await quota({ amount: 3, deduplicationId: 'b' })).to.deep.equal({
      status: { code: 8, message: 'the bucket is empty' },
      granted: 0,
      validMs: 0,
    });
    expect(await granted({ amount: 3, bestEffort: true })).to.equal(2);
    expect(await granted({ amount: 3 }, 'somebody else')).to.equal(3);
  });

  it('gets reports in batches, and the last ones at the end', async () => {
    const before = sample.reports().length;
    const { report, handler } = open({ flushInterval: '60s' });
    report(1n);
    report(9_007_199_254_740_993n);
    await handler.close(AbortSignal.timeout(60_000));
    const [first, ...rest] = (await reported(before + 2)).slice(before);
    expect(first).to.deep.equal({
      handler: 'h.x.mesh-system',
      instance: 'size.metric.ns',
      template: 'metric',
      fields: { value: 1, dimensions: {}, monitoredResourceDimensions: {} },
    });
    expect(rest).to.have.length(1);
  });

  it('may refuse the parameters, which is told with all that is wrong, and refuses every request', async () => {
    const { check, quota, until, condition, environment } = open({ params: { deny: 'mallory', quta: 5 } });
    await until(({ session }) => session === 'refused');
    const { trouble = '' } = condition();
    expect(trouble).to.include('params.deny: must be a list').and.include('params.quta: is unknown');
    expect((await check('alice')).status).to.deep.equal({ code: 14, message: 'the adapter gives no decision' });
    expect((await quota({})).granted).to.equal(0);
    expect(environment.logger.entries.map(({ message }) => message)).to.deep.equal(['a gRPC adapter does not do its part']);
    expect(condition().circuit).to.equal('closed');
  });

  it('is asked again after it was killed and started again, and has a new session then', async () => {
    const { check, until, condition, environment } = open({
      params: { deny: ['mallory'] },
      circuitBreaker: { openDuration: '50ms' },
      healthCheckInterval: '20ms',
    });
    const open1 = open({ failClose: false, circuitBreaker: { openDuration: '50ms' } });
    expect((await check('mallory')).status.code).to.equal(7);
    const codes = new Set<number>();
    let running = true;
    const calling = (async () => {
      while (running) {
        codes.add((await check('mallory')).status.code);
        // What is refused at once is a turn of the event loop of its own, or nothing else would ever have one.
        await sleep(1);
      }
    })();
    await sample.kill();
    await until(({ circuit }) => circuit !== 'closed');
    expect(condition().trouble).to.include(`127.0.0.1:${sample.port}`);
    expect((await open1.check('mallory')).status.code).to.equal(0);
    expect((await open1.quota({ amount: 3 })).granted).to.equal(3);
    await sample.start();
    await until(({ circuit, trouble }) => circuit === 'closed' && trouble === undefined);
    running = false;
    await calling;
    // Never admitted, whatever became of the adapter.
    expect([...codes].sort((a, b) => a - b)).to.deep.equal([7, 14]);
    expect((await check('alice')).status.code).to.equal(0);
    expect(environment.logger.entries.map(({ message }) => message)).to.include('a gRPC adapter does its part again');
  });

  it('keeps reports for when it is back', async () => {
    const { report, until, condition, environment } = open({ flushInterval: '10ms', circuitBreaker: { openDuration: '50ms' } });
    await until(({ session }) => session === 'open');
    const before = sample.reports().length;
    await sample.kill();
    report(1n);
    await until(({ failures }) => failures > 0);
    await sample.start();
    await reported(before + 1);
    await until(({ trouble }) => trouble === undefined);
    expect(condition().circuit).to.equal('closed');
    expect(environment.losses.size).to.equal(0);
  });

  it('makes nobody wait for long while it hangs, and many not at all', async () => {
    const { check, until, condition } = open({
      params: { deny: ['mallory'] },
      deadline: '200ms',
      circuitBreaker: { openDuration: '200ms' },
      healthCheckInterval: '50ms',
    });
    await refuses(check);
    sample.freeze();
    try {
      const asked = Array.from({ length: 1_500 }, () => check('mallory'));
      expect(condition().waiting).to.equal(1_000);
      const many = await Promise.all(asked);
      expect(new Set(many.map(({ status }) => status.code))).to.deep.equal(new Set([14]));
      await until(({ circuit }) => circuit !== 'closed');
    } finally {
      sample.thaw();
    }
    await refuses(check);
  });

  it('is not waited for beyond the deadline when it is slow', async () => {
    const slow = open({ params: { delay: '1h' }, deadline: '100ms' });
    expect((await slow.check('alice')).status.code).to.equal(14);
    expect((await slow.quota({})).status.code).to.equal(14);
    // Either side's clock may be first.
    expect(slow.condition().trouble).to.match(/deadline|has ended the call/i);
  });

  it('does not hold the request up that its client has given up, nor is that its fault', async () => {
    const { handler, condition, until } = open({ params: { delay: '1h' }, circuitBreaker: { consecutiveFailures: 1 } });
    await until(({ session }) => session === 'open');
    const stop = new AbortController();
    const asked = handler.check?.(
      { template: 'listentry', values: { name: 'who.listentry.ns', value: 'alice' } },
      { signal: stop.signal },
    );
    stop.abort();
    expect((await asked)?.status.code).to.equal(1);
    expect(condition()).to.include({ circuit: 'closed', failures: 0, waiting: 0 });
  });

  describe('over TLS', () => {
    let secured: SampleAdapter;
    let root: TestRoot;
    let files: string;

    const write = (name: string, pem: string): string => {
      const path = join(files, name);
      writeFileSync(`${path}.new`, pem, { mode: 0o600 });
      renameSync(`${path}.new`, path);
      return path;
    };

    before(async function () {
      files = mkdtempSync(join(tmpdir(), 'grpc-adapter-'));
      root = await TestRoot.create();
      const { keyPem, chainPem } = await root.identity({ type: 'dns', value: 'adapter.test' });
      const flags = ['-tls-cert', write('server.pem', chainPem), '-tls-key', write('server-key.pem', keyPem)];
      secured = new SampleAdapter(requireGrpcAdapter(this), await freePort(), [
        ...flags,
        '-tls-client-ca',
        write('ca.pem', root.pem),
      ]);
      await secured.start();
    });

    after(async () => {
      await secured?.remove();
      if (files !== undefined) rmSync(files, { recursive: true, force: true });
    });

    async function client(by: TestRoot): Promise<object> {
      const { keyPem, chainPem } = await by.identity({ type: 'dns', value: 'mixs' });
      return {
        caCertificates: join(files, 'ca.pem'),
        clientCertificate: write('client.pem', chainPem),
        privateKey: write('client-key.pem', keyPem),
        serverName: 'adapter.test',
      };
    }

    it('decides for those who prove who they are, and takes up certificates that are replaced', async () => {
      const other = await TestRoot.create();
      const tls = await client(other);
      const { check, until } = open({
        address: `127.0.0.1:${secured.port}`,
        tls,
        params: { deny: ['mallory'] },
        healthCheckInterval: '200ms',
        // The connection is not given up for what has failed on it.
        circuitBreaker: { consecutiveFailures: 1000 },
      });
      await until(({ failures }) => failures > 0);
      expect((await check('mallory')).status.code).to.equal(14);
      await client(root);
      await until(({ session }) => session === 'open');
      expect((await check('mallory')).status.code).to.equal(7);
    });

    it('is not believed with a certificate of another name, or of an authority that is not trusted', async () => {
      const address = `127.0.0.1:${secured.port}`;
      const tls = await client(root);
      const misnamed = open({ address, tls: { ...tls, serverName: 'another.test' } });
      expect((await misnamed.check('alice')).status.code).to.equal(14);
      expect(misnamed.condition().trouble).to.include('another.test');
      const distrusting = open({ address, tls: { ...tls, caCertificates: write('other.pem', (await TestRoot.create()).pem) } });
      expect((await distrusting.check('alice')).status.code).to.equal(14);
      const unreadable = open({ address, tls: { ...tls, caCertificates: join(files, 'none.pem') } });
      expect((await unreadable.check('alice')).status.code).to.equal(14);
      expect(unreadable.condition().trouble).to.include('none.pem" cannot be read');
    });
  });
});
