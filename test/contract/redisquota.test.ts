import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Handler, QuotaRequest, QuotaResult } from '../../src/mixs/adapter/adapter.ts';
import { openRedisquota } from '../../src/mixs/adapter/redisquota.ts';
import { redisquota } from '../../src/rules/adapter/redisquota.ts';
import { adapterEnvironment, type TestEnvironment } from '../fakes/adapter-environment.ts';
import { compiledInstance } from '../fakes/rule-instances.ts';
import { type BackendProcess, redisOn, requireBackend } from '../harness/backend.ts';
import { freePort } from '../harness/free-port.ts';

const COUNT = compiledInstance('quota', 'count', { dimensions: { user: 'source.user' } });

const problemsOf = (spec: object): readonly string[] => {
  const parsed = redisquota.parse(spec, [COUNT]);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
};

describe('the redisquota adapter', () => {
  it('tells what is wrong with its configuration, and no password', () => {
    const quota = { name: 'count', maxAmount: 1 };
    expect(problemsOf({ redisServerUrl: 'http://user:secret@host', quotas: [{ ...quota, bucketDuration: '1s' }] })).to.deep.equal(
      [
        'redisServerUrl: must be host:port, or a redis: or rediss: URL',
        'quotas[0].bucketDuration: is for rateLimitAlgorithm ROLLING_WINDOW only',
      ],
    );
    const rolling = { ...quota, rateLimitAlgorithm: 'ROLLING_WINDOW', validDuration: '10s' };
    const problems = problemsOf({
      redisServerUrl: 'localhost:6379',
      quotas: [rolling, { ...rolling, bucketDuration: '10s' }, { ...rolling, bucketDuration: '1ms' }],
    });
    expect(problems).to.deep.equal([
      'quotas[0].bucketDuration: must be longer than 0s for a rolling window',
      'quotas[1].bucketDuration: must be shorter than validDuration',
      'quotas[2].bucketDuration: must be at least a 1000th of validDuration',
    ]);
  });

  describe('with a real Redis', () => {
    let server: BackendProcess;
    let admin: Redis;
    const environments: TestEnvironment[] = [];

    before(async function () {
      server = redisOn(requireBackend('redis', this), await freePort());
      await server.start();
      admin = new Redis(server.port, '127.0.0.1');
      admin.on('error', () => {});
    });

    beforeEach(() => admin.flushall());

    afterEach(() => {
      for (const environment of environments.splice(0)) environment.end();
    });

    after(async () => {
      admin?.disconnect();
      await server?.remove();
    });

    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

    function open(quota: object, port = server.port): { readonly handler: Handler; readonly environment: TestEnvironment } {
      const spec = { redisServerUrl: `127.0.0.1:${port}`, quotas: [{ name: 'count', ...quota }] };
      const params = redisquota.parse(spec, [COUNT]);
      if (!params.ok) throw new Error(JSON.stringify(params.problems));
      const environment = adapterEnvironment();
      environments.push(environment);
      return { handler: openRedisquota(params.value, environment), environment };
    }

    async function take(
      handler: Handler,
      amount: number,
      options: Partial<QuotaRequest> & { user?: string } = {},
    ): Promise<QuotaResult> {
      const { user = 'me', bestEffort = false, deduplicationId = '' } = options;
      const result = await handler.quota?.(
        { name: 'count.quota.ns', dimensions: { user: { type: 'STRING', value: user } } },
        { amount, bestEffort, deduplicationId },
        { signal: new AbortController().signal },
      );
      if (result === undefined) throw new Error('there is no answer');
      return result;
    }

    /** Waits until the handler's connections are there: until then nothing is granted. */
    async function ready(handler: Handler): Promise<void> {
      // As many in a row as there are connections.
      for (let answered = 0; answered < 2; await turn())
        answered = (await take(handler, 1, { user: 'nobody', bestEffort: true })).status.code === 14 ? 0 : answered + 1;
    }

    const ALGORITHMS = {
      FIXED_WINDOW: {},
      ROLLING_WINDOW: { rateLimitAlgorithm: 'ROLLING_WINDOW', bucketDuration: '100ms' },
    };
    for (const [name, algorithm] of Object.entries(ALGORITHMS)) {
      describe(name, () => {
        it('grants an amount once, counts by dimensions, and holds overrides', async () => {
          const overrides = [{ dimensions: { user: 'vip' }, maxAmount: 100 }];
          const { handler } = open({ ...algorithm, maxAmount: 5, validDuration: '1m', overrides });
          await ready(handler);
          const granted = await take(handler, 3);
          expect(granted).to.deep.include({ granted: 3, status: { code: 0, message: '' } });
          expect(granted.validMs).to.be.within(50_000, 60_000);
          expect(await take(handler, 3)).to.deep.include({ granted: 0, status: { code: 8, message: 'quota is exhausted' } });
          expect((await take(handler, 3, { bestEffort: true })).granted).to.equal(2);
          expect((await take(handler, 1, { user: 'other' })).granted).to.equal(1);
          expect((await take(handler, 60, { user: 'vip' })).granted).to.equal(60);
        });

        it('gives a call that is tried again the answer of the first, whoever gets it', async () => {
          const quota = { ...algorithm, maxAmount: 5, validDuration: '1m' };
          const one = open(quota).handler;
          const other = open(quota).handler;
          await Promise.all([ready(one), ready(other)]);
          expect((await take(one, 3, { deduplicationId: 'a' })).granted).to.equal(3);
          expect((await take(other, 3, { deduplicationId: 'a' })).granted).to.equal(3);
          expect((await take(other, 3, { deduplicationId: 'b' })).granted).to.equal(0);
          expect((await take(one, 2, { deduplicationId: 'c' })).granted).to.equal(2);
        });

        it('never grants more than there is, whoever asks at the same time', async () => {
          const quota = { ...algorithm, maxAmount: 50, validDuration: '1m' };
          const handlers = [open(quota).handler, open(quota).handler];
          await Promise.all(handlers.map(ready));
          const answers = await Promise.all(handlers.flatMap((handler) => Array.from({ length: 100 }, () => take(handler, 1))));
          expect(answers.reduce((sum, { granted }) => sum + granted, 0)).to.equal(50);
        });

        it('grants again when the window is over, and leaves nothing in Redis', async () => {
          const { handler } = open({ ...algorithm, maxAmount: 2, validDuration: '1s' });
          await ready(handler);
          // At once, so that they meet in one window.
          const answers = await Promise.all([take(handler, 1), take(handler, 1), take(handler, 1)]);
          expect(answers.reduce((sum, { granted }) => sum + granted, 0)).to.equal(2);
          while ((await take(handler, 1)).granted === 0) await turn();
          while ((await admin.dbsize()) > 0) await turn();
        });
      });
    }

    it('rolls: what was taken late is not there again with what was taken early', async () => {
      const { handler } = open({ ...ALGORITHMS.ROLLING_WINDOW, maxAmount: 2, validDuration: '2s' });
      await ready(handler);
      const clock = async (): Promise<number> => {
        const [seconds, micros] = await admin.time();
        return Number(seconds) * 1000 + Number(micros) / 1000;
      };
      const first = await clock();
      expect((await take(handler, 1)).granted).to.equal(1);
      while ((await clock()) < first + 1_000) await turn();
      const beforeSecond = await clock();
      expect((await take(handler, 1)).granted).to.equal(1);
      while ((await take(handler, 1)).granted === 0) await turn();
      const third = await clock();
      // The first has rolled out, the second has not.
      expect(third).to.be.at.least(first + 1_900);
      const next = await take(handler, 1);
      const now = await clock();
      expect(next.granted === 0 || now >= beforeSecond + 1_900).to.equal(true);
    });

    it('sends its scripts again to a Redis that has forgotten them', async () => {
      const { handler } = open({ maxAmount: 5, validDuration: '1m' });
      await ready(handler);
      await admin.script('FLUSH');
      expect((await take(handler, 1)).granted).to.equal(1);
    });

    it('grants nothing while Redis is down, and goes on when it is back', async function () {
      this.timeout(120_000);
      const { handler, environment } = open({ maxAmount: 5, validDuration: '1m' });
      await ready(handler);
      expect((await take(handler, 5)).granted).to.equal(5);
      await server.kill();
      while ((await take(handler, 1)).status.code !== 14) await turn();
      expect(await take(handler, 1)).to.deep.include({ granted: 0, validMs: 0 });
      const many = await Promise.all(Array.from({ length: 10_000 }, () => take(handler, 1)));
      expect(many.every(({ status, granted }) => status.code === 14 && granted === 0)).to.equal(true);
      await server.start();
      await ready(handler);
      expect((await take(handler, 5)).granted).to.equal(5);
      const told = environment.logger.entries.filter(({ message }) => message.startsWith('redis'));
      expect(told.map(({ message }) => message).sort()).to.deep.equal([
        'redis answers again',
        'redis answers again',
        'redis does not answer',
        'redis does not answer',
      ]);
    });

    it('may be down when it starts', async function () {
      this.timeout(120_000);
      await server.kill();
      const { handler } = open({ maxAmount: 5, validDuration: '1m' });
      expect(await take(handler, 1)).to.deep.include({ granted: 0, status: { code: 14, message: 'redis cannot be reached' } });
      await server.start();
      await ready(handler);
      expect((await take(handler, 5)).granted).to.equal(5);
    });

    it('waits only so long, and for so many, where Redis hangs', async function () {
      this.timeout(120_000);
      const { handler } = open({ maxAmount: 5, validDuration: '1m' });
      await ready(handler);
      server.freeze();
      try {
        const answers = await Promise.all(Array.from({ length: 5_000 }, () => take(handler, 1)));
        expect(new Set(answers.map(({ status }) => status.code))).to.deep.equal(new Set([14]));
        expect(answers.filter(({ status }) => status.message.includes('wait already'))).to.have.length(3_000);
      } finally {
        server.thaw();
      }
      await ready(handler);
      await admin.flushall();
      expect((await take(handler, 5)).granted).to.equal(5);
    });
  });
});
