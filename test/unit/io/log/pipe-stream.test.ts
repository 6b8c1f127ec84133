import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import type { LossReport } from '../../../../src/io/log/log-file.ts';
import { pipeStream } from '../../../../src/io/log/pipe-stream.ts';

const LINE = `${'x'.repeat(1023)}\n`;

describe('a log on a pipe', () => {
  function open() {
    const counts = { lost: 0, written: 0 };
    const report: LossReport = {
      lost: () => {
        counts.lost++;
      },
      written: () => {
        counts.written++;
      },
      kept: () => {},
    };
    const pipe = new PassThrough({ highWaterMark: 1 });
    return { counts, pipe, log: pipeStream(pipe, report) };
  }

  it('keeps a bounded number of lines for a reader that sleeps, counts the others, and goes on when it wakes', async () => {
    const { counts, pipe, log } = open();
    for (let line = 0; line < 3_000; line++) log.write(LINE);
    expect(counts.written).to.be.within(1_000, 1_100);
    expect(counts.lost).to.equal(3_000 - counts.written);
    expect(pipe.writableLength).to.be.at.most(1024 * 1024);

    pipe.resume();
    while (pipe.writableLength > 0) await new Promise(setImmediate);
    const before = counts.written;
    log.write(LINE);
    expect(counts.written).to.equal(before + 1);
  });
});
