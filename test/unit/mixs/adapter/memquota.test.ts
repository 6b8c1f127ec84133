import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { QuotaResult } from '../../../../src/mixs/adapter/adapter.ts';
import { openMemquota } from '../../../../src/mixs/adapter/memquota.ts';
import { RollingWindow } from '../../../../src/mixs/adapter/rolling-window.ts';
import { memquota } from '../../../../src/rules/adapter/memquota.ts';
import { adapterEnvironment } from '../../../fakes/adapter-environment.ts';
import { compiledInstance } from '../../../fakes/rule-instances.ts';

const SENT = [compiledInstance('quota', 'count', { dimensions: { user: 'source.user' } })];
const START = 1_527_854_400_000;

interface Ask {
  readonly amount?: number;
  readonly bestEffort?: boolean;
  readonly id?: string;
  readonly user?: string;
}

/** A handler with a limit of 10 in 10 s, and its clock in milliseconds since the start. */
function open(limit: object = {}, spec: object = {}) {
  const params = memquota.parse({ quotas: [{ name: 'count', maxAmount: 10, validDuration: '10s', ...limit }], ...spec }, SENT);
  if (!params.ok) throw new Error(JSON.stringify(params.problems));
  const clock = { ms: 0 };
  let timeOfDay = START;
  const environment = adapterEnvironment(
    () => new Date(timeOfDay),
    () => clock.ms,
  );
  const handler = openMemquota(params.value, environment);
  const ask = ({ amount = 1, bestEffort = false, id = '', user = 'me' }: Ask): QuotaResult => {
    const instance = { name: 'count.quota.ns', dimensions: { user: { type: 'STRING', value: user } as const } };
    const request = { amount, bestEffort, deduplicationId: id };
    const result = handler.quota?.(instance, request, { signal: environment.signal });
    if (result === undefined || result instanceof Promise) throw new Error('memory answers at once');
    return result;
  };
  const setTimeOfDay = (ms: number): void => {
    timeOfDay = ms;
  };
  return { clock, ask, setTimeOfDay, take: (amount: number, rest: Ask = {}) => ask({ amount, ...rest }).granted };
}

/** Bytes that are used after what is not needed has gone. */
function memoryInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

describe('the memquota adapter', () => {
  it('counts for a bounded number of callers, and for others again when these are gone', () => {
    const { clock, take, ask } = open();
    for (let caller = 0; caller < 100_000; caller++) take(1, { user: `caller-${caller}` });
    expect(ask({ user: 'one more' }).status).to.deep.equal({
      code: 8,
      message: 'more than 100000 combinations of dimensions are counted already',
    });
    expect(take(1, { user: 'caller-5' })).to.equal(1);
    clock.ms = 60_000;
    for (let call = 0; call < 10_000; call++) take(1, { user: 'caller-5' });
    expect(take(1, { user: 'one more' })).to.equal(1);
  }).timeout(120_000);

  it('grants all or nothing, or what is left to those who take less', () => {
    const { ask, take } = open();
    expect(ask({ amount: 8 })).to.deep.equal({ status: { code: 0, message: '' }, granted: 8, validMs: 10_000 });
    expect(ask({ amount: 3 })).to.deep.equal({ status: { code: 8, message: 'quota is exhausted' }, granted: 0, validMs: 10_000 });
    expect(take(3, { bestEffort: true })).to.equal(2);
    expect(take(1, { bestEffort: true })).to.equal(0);
  });

  it('has back what was taken one window ago, and not before', () => {
    const { clock, take } = open();
    expect(take(6)).to.equal(6);
    clock.ms = 5_000;
    expect(take(4)).to.equal(4);
    clock.ms = 9_999;
    expect(take(1)).to.equal(0);
    clock.ms = 11_000;
    expect(take(7)).to.equal(0);
    expect(take(6)).to.equal(6);
    clock.ms = 16_000;
    expect(take(5)).to.equal(0);
    expect(take(4)).to.equal(4);
    clock.ms = 1_000_000;
    expect(take(10)).to.equal(10);
  });

  it('neither grants anew nor refuses for hours when the time of day is set', () => {
    for (const hours of [-1, 1]) {
      const { clock, take, setTimeOfDay } = open();
      expect(take(10)).to.equal(10);
      setTimeOfDay(START + hours * 3_600_000);
      expect(take(1)).to.equal(0);
      clock.ms = 9_999;
      expect(take(1)).to.equal(0);
      clock.ms = 11_000;
      expect(take(10)).to.equal(10);
    }
  });

  it('keeps little of callers with dimensions and ids of a hundred kilobytes, and tells them apart', () => {
    const { take } = open();
    const long = 'x'.repeat(100_000);
    const before = memoryInUse();
    for (let caller = 0; caller < 500; caller++) take(1, { user: `${long}${caller}`, id: `${long}${caller}` });
    expect(memoryInUse() - before).to.be.below(10_000_000);
    expect(take(10, { user: `${long}0` })).to.equal(0);
    expect(take(9, { user: `${long}0` })).to.equal(9);
    expect(take(1, { user: `${long}0`, id: `${long}0` })).to.equal(1);
    expect(take(1, { user: `${long}0`, id: `${long}new` })).to.equal(0);
  });

  it('counts those with other dimensions apart, by the first override that fits', () => {
    const overrides = [
      { dimensions: { user: 'vip' }, maxAmount: 100 },
      { dimensions: { user: 'vip' }, maxAmount: 1 },
      { dimensions: { user: 'nobody' }, maxAmount: 0 },
      { dimensions: {}, maxAmount: 3 },
    ];
    const { take } = open({ overrides });
    expect(take(50, { user: 'vip' })).to.equal(50);
    expect(take(1, { user: 'nobody', bestEffort: true })).to.equal(0);
    expect(take(9, { user: 'a', bestEffort: true })).to.equal(3);
    expect(take(9, { user: 'b', bestEffort: true })).to.equal(3);
  });

  it('answers a call that is tried again as it did at first, as long as it is told at least and twice as long at most', () => {
    const { clock, take } = open({}, { minDeduplicationDuration: '2s' });
    clock.ms = 1_999;
    expect(take(4, { id: 'a' })).to.equal(4);
    clock.ms = 3_998;
    expect(take(4, { id: 'a' })).to.equal(4);
    expect(take(4, { id: 'b' })).to.equal(4);
    expect(take(4, { id: 'c' })).to.equal(0);
    expect(take(1, { id: 'a', user: 'other' })).to.equal(1);
    clock.ms = 8_100;
    expect(take(2, { id: 'a' })).to.equal(2);
    expect(take(1, { id: 'd' })).to.equal(0);
  });

  it('knows a call that is tried again after the time of day is set', () => {
    const { take, setTimeOfDay } = open();
    expect(take(6, { id: 'a' })).to.equal(6);
    setTimeOfDay(START + 3_600_000);
    expect(take(6, { id: 'a' })).to.equal(6);
    expect(take(5, { id: 'b' })).to.equal(0);
  });

  it('counts right over ten thousand callers that come once', () => {
    const { clock, take } = open();
    expect(take(10)).to.equal(10);
    for (let user = 0; user < 9_998; user++) take(1, { user: `user ${user}` });
    expect(take(1)).to.equal(0);
    expect(take(1)).to.equal(0);
    clock.ms = 20_000;
    for (let user = 0; user < 10_000; user++) take(1, { user: `other ${user}` });
    expect(take(10)).to.equal(10);
  });
});

describe('a rolling window', () => {
  it('is idle as soon as nothing is taken any more', () => {
    const window = new RollingWindow(1_000);
    expect(window.isIdle(0)).to.equal(true);
    window.take(1, 1, false, 0);
    expect(window.isIdle(999)).to.equal(false);
    expect(window.isIdle(1_100)).to.equal(true);
  });
});
