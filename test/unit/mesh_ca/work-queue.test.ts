import { expect } from 'chai';
import { milliseconds } from '../../../src/lib/duration.ts';
import { WorkQueue } from '../../../src/mesh_ca/work-queue.ts';
import { FakeClock } from '../../fakes/clock.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the work queue', () => {
  let clock: FakeClock;
  let stop: AbortController;
  let done: string[];
  let waits: number[];
  beforeEach(() => {
    [clock, stop, done, waits] = [new FakeClock('2026-05-01T00:00:00Z'), new AbortController(), [], []];
  });
  afterEach(() => stop.abort());

  const queue = (work: (key: string) => Promise<void>, workers = 2): WorkQueue =>
    new WorkQueue({
      work,
      workers,
      backoff: { first: milliseconds(100), longest: milliseconds(400) },
      random: () => 1,
      sleep: (time, signal) => clock.sleep(time, signal),
      onFailure: (_, __, retryIn) => waits.push(retryIn),
      signal: stop.signal,
    });

  it('works on few keys at once, on all in the end, and on each once however often it was added', async () => {
    let running = 0;
    let most = 0;
    const work = queue(async (key) => {
      most = Math.max(most, ++running);
      await settle();
      running -= 1;
      done.push(key);
    });
    for (const key of ['a', 'b', 'c', 'd', 'c', 'd']) work.add(key);
    await work.idle();
    expect([done, most]).to.deep.equal([['a', 'b', 'c', 'd'], 2]);
  });

  it('works once more, and not at the same time, on what was added while it was worked on', async () => {
    let running = 0;
    const work: WorkQueue = queue(async (key) => {
      expect(++running).to.equal(1);
      if (done.length === 0) for (const _ of [1, 2, 3]) work.add(key);
      await settle();
      running -= 1;
      done.push(key);
    });
    work.add('a');
    await work.idle();
    expect(done).to.deep.equal(['a', 'a']);
  });

  it('tries again after waits that grow to a limit, and begins anew after a success', async () => {
    let failing = 5;
    const work = queue(async (key) => {
      done.push(key);
      if (failing-- > 0) throw new Error('no');
    });
    work.add('a');
    for (let tries = 0; tries < 5; tries += 1) {
      await settle();
      await clock.wakeNext();
    }
    await settle();
    expect([waits, done.length]).to.deep.equal([[100, 200, 400, 400, 400], 6]);
    failing = 1;
    work.add('a');
    await settle();
    expect(waits.at(-1)).to.equal(100);
  });

  it('lets nobody wait behind a key that fails, and takes a key that is added at once though it waits', async () => {
    let failing = true;
    const work = queue(async (key) => {
      if (key === 'bad' && failing) throw new Error('no');
      done.push(key);
    }, 1);
    work.add('bad');
    work.add('good');
    await work.idle();
    expect(done).to.deep.equal(['good']);
    failing = false;
    work.add('bad');
    await work.idle();
    expect(done).to.deep.equal(['good', 'bad']);
  });

  it('ends with its signal', async () => {
    const work = queue(async () => Promise.reject(new Error('no')));
    work.add('a');
    await settle();
    stop.abort();
    work.add('b');
    await work.idle();
    clock.advance(10_000);
    await settle();
    expect(waits).to.deep.equal([100]);
  });
});
