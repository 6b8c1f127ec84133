import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { collectStartUpGarbage } from '../../../src/io/start-up-garbage.ts';
import { milliseconds } from '../../../src/lib/duration.ts';

const MIB = 1024 * 1024;

describe('the garbage of a start', () => {
  async function collections(heapBytes: number): Promise<readonly unknown[]> {
    const calls: unknown[] = [];
    collectStartUpGarbage(
      milliseconds(1),
      (options) => calls.push(options),
      () => heapBytes,
    );
    expect(calls, 'not at once').to.deep.equal([]);
    await delay(1);
    // Timers of one length fire in the order they were set.
    return calls;
  }

  it('is collected once, down to the pages that are empty then', async () => {
    expect(await collections(20 * MIB)).to.deep.equal([{ type: 'major', flavor: 'last-resort' }]);
  });

  it('stays where collecting would take long', async () => {
    expect(await collections(200 * MIB)).to.deep.equal([]);
  });

  it('stays where Node does not let us collect', () => {
    expect(() => collectStartUpGarbage(milliseconds(1), undefined, () => 0)).not.to.throw();
  });
});
