import { expect } from 'chai';
import { oneAtATime } from '../../../src/mesh_ca/one-at-a-time.ts';

describe('one run at a time', () => {
  it('has those who ask meanwhile share one more run, which begins after the present one', async () => {
    const events: string[] = [];
    let runs = 0;
    const run = oneAtATime(async () => {
      const own = ++runs;
      events.push(`begin ${own}`);
      await new Promise((resolve) => setImmediate(resolve));
      events.push(`end ${own}`);
    });
    await Promise.all([run(), run(), run()]);
    await run();
    expect(events).to.deep.equal(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3']);
  });

  it('goes on after a failure', async () => {
    let failing = true;
    const run = oneAtATime(async () => {
      if (failing) throw new Error('no');
    });
    const first = run().catch(() => 'failed');
    const second = run().then(
      () => 'done',
      () => 'failed',
    );
    failing = false;
    expect(await Promise.all([first, second])).to.deep.equal(['failed', 'done']);
  });
});
