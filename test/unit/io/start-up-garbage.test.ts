import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { collectStartUpGarbage } from '../../../src/io/start-up-garbage.ts';
import { milliseconds } from '../../../src/lib/duration.ts';

const MIB = 1024 * 1024;

describe('the garbage of a start', () => {
  async function collections(heapBytes: number): Promise<number> {
    let count = 0;
    collectStartUpGarbage(
      milliseconds(1),
      () => {
        count += 1;
      },
      () => heapBytes,
    );
    expect(count, 'at once').to.equal(0);
    // Timers of one length fire in the order they were set.
    await delay(1);
    return count;
  }

  it('is collected once', async () => {
    expect(await collections(20 * MIB)).to.equal(1);
  });

  it('stays where collecting would take long', async () => {
    expect(await collections(200 * MIB)).to.equal(0);
  });

  it('is really gone afterwards', async () => {
    const collected = Promise.withResolvers<void>();
    const registry = new FinalizationRegistry(() => collected.resolve());
    registry.register({ of: 'the start' }, undefined);
    collectStartUpGarbage(milliseconds(1), undefined, () => 0);
    await collected.promise;
  });
});
