import { expect } from 'chai';
import { WorkerPool } from '../../../src/mixs/worker-pool.ts';

const SIGNAL = new AbortController().signal;

describe('a pool of workers', () => {
  it('gives a place that becomes free to who waits, never to one more beside him', async () => {
    const pool = new WorkerPool(1);
    const first = Promise.withResolvers<void>();
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, pool.running);
    };
    const waiting = [pool.run(() => first.promise, SIGNAL), pool.run(work, SIGNAL)];
    const comesInBetween = first.promise.then(async () => {
      for (let turn = 0; turn < 10; turn++) await pool.run(work, SIGNAL);
    });
    first.resolve();
    await Promise.all([...waiting, comesInBetween]);
    expect(most).to.equal(1);
    expect([pool.running, pool.waiting]).to.deep.equal([0, 0]);
  });

  it('refuses whom there is no room for, but not those who have nothing else under way', async () => {
    const pool = new WorkerPool(1);
    const first = Promise.withResolvers<void>();
    const done: string[] = [];
    const all = [pool.run(() => first.promise, SIGNAL)];
    for (let call = 0; call < 8; call++) all.push(pool.run(async () => void done.push('call'), SIGNAL));
    for (let stream = 0; stream < 100; stream++) all.push(pool.wait(async () => void done.push('stream'), SIGNAL));
    const refused = await pool.run(async () => {}, SIGNAL).catch((error: unknown) => error);
    expect(refused).to.include({ code: 'resource_exhausted', message: '1 are worked on and 108 wait already' });
    first.resolve();
    await Promise.all(all);
    expect(done).to.deep.equal([...Array(8).fill('call'), ...Array(100).fill('stream')]);
    expect([pool.running, pool.waiting]).to.deep.equal([0, 0]);
  });

  it('does not begin for a request that ended before or while it waited', async () => {
    const pool = new WorkerPool(1);
    const first = Promise.withResolvers<void>();
    const running = pool.run(() => first.promise, SIGNAL);
    const stop = new AbortController();
    const codes: unknown[] = [];
    const run = (): Promise<unknown> =>
      pool.run(async () => codes.push('begun'), stop.signal).catch((error: { code?: unknown }) => codes.push(error.code));
    const waiting = run();
    stop.abort();
    await Promise.all([waiting, run()]);
    expect(codes).to.deep.equal(['cancelled', 'cancelled']);
    first.resolve();
    await running;
    expect([pool.running, pool.waiting]).to.deep.equal([0, 0]);
  });
});
