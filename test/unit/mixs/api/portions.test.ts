import { expect } from 'chai';
import { inPortions } from '../../../../src/mixs/api/portions.ts';

describe('work in portions', () => {
  it('is done on all things in order, with turns for others in between', async () => {
    const sizes: number[] = [];
    const seen: number[] = [];
    let others = 0;
    const other = (): void => {
      others++;
      if (seen.length < 1_001) setImmediate(other);
    };
    setImmediate(other);
    await inPortions(Array(1_001).keys(), new AbortController().signal, async (portion) => {
      sizes.push(portion.length);
      seen.push(...portion);
    });
    expect(sizes).to.deep.equal([...Array(10).fill(100), 1]);
    expect(seen).to.deep.equal([...Array(1_001).keys()]);
    expect(others).to.be.at.least(9);
  });

  it('ends when nobody waits for it any more, and takes no more than it works on', async () => {
    const stop = new AbortController();
    let taken = 0;
    function* things(): Generator<number> {
      for (;;) yield taken++;
    }
    await inPortions(things(), stop.signal, async () => {
      if (taken === 300) stop.abort();
    });
    expect(taken).to.equal(300);
  });
});
