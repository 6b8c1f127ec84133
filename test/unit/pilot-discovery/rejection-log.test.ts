import { expect } from 'chai';
import { createRejectionLog } from '../../../src/pilot-discovery/rejection-log.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

describe('the log of rejections', () => {
  const rejection = (proxy: number, reason = 'bad cluster') => ({
    type: 'cluster',
    objects: 'Service foo/web',
    reason,
    proxy: `web-${proxy}.foo`,
  });
  let now = 0;
  let logger: MemoryLogger;
  const started = () => {
    now = 0;
    logger = new MemoryLogger();
    return createRejectionLog(logger, () => now);
  };
  const lines = () => logger.entries.map(({ fields }) => [fields['proxy'] ?? fields['proxies'], fields['rejections']]);

  it('has two lines for a thousand proxies that reject one thing: the first, and how many more', () => {
    const log = started();
    for (let proxy = 0; proxy < 1_000; proxy += 1) log.add(rejection(proxy));
    log.flush();
    expect(logger.entries).to.have.length(1);
    expect(logger.entries[0]?.fields).to.deep.equal({ ...rejection(0) });
    now = 10_000;
    log.flush();
    expect(lines()).to.deep.equal([
      ['web-0.foo', undefined],
      [999, 999],
    ]);
    expect(logger.entries[1]?.fields).to.include({ type: 'cluster', objects: 'Service foo/web', reason: 'bad cluster' });
  });

  it('comes back ever more seldom while it goes on, and is new again after a pause', () => {
    const log = started();
    for (let second = 0; second < 3_600; second += 5) {
      now = second * 1_000;
      log.flush();
      log.add(rejection(1));
    }
    expect(logger.entries.length).to.be.within(8, 14);
    now += 600_000;
    log.flush();
    now += 600_000;
    log.flush();
    const before = logger.entries.length;
    log.add(rejection(1));
    expect(lines().slice(before)).to.deep.equal([['web-1.foo', undefined]]);
  });

  it('names different ones each, up to a hundred, and counts the rest', () => {
    const log = started();
    for (let index = 0; index < 150; index += 1) log.add(rejection(1, `reason ${index}`));
    expect(logger.entries).to.have.length(100);
    log.flush();
    expect(logger.entries[100]?.fields).to.deep.equal({ rejections: 50 });
  });
});
