import { expect } from 'chai';
import { readTogether } from '../../../../src/io/file/read-together.ts';

describe('files that are read together', () => {
  it('are of one time though they are swapped between two readings', async () => {
    let volume = 'old';
    let reads = 0;
    const read = async (path: string): Promise<string> => {
      reads += 1;
      const text = `${path} ${volume}`;
      if (reads === 1) volume = 'new';
      return text;
    };
    expect(await readTogether(['cert', 'key'], read)).to.deep.equal(['cert new', 'key new']);
  });

  it('are given up on when they never rest, and read once when there is one', async () => {
    let reads = 0;
    const read = async (): Promise<string> => {
      reads += 1;
      return String(reads);
    };
    expect(await readTogether(['a', 'b'], read)).to.have.length(2);
    expect(reads).to.equal(10);
    await readTogether(['a'], read);
    expect(reads).to.equal(11);
  });
});
