import { once } from 'node:events';
import { mkdtempSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { followChanges } from '../../../../src/io/file/file-changes.ts';
import { FakeClock } from '../../../fakes/clock.ts';

describe('files that are followed', () => {
  let folder: string;
  let clock: FakeClock;
  let stop: AbortController;
  let reads: number;
  let good: boolean;
  let following: Promise<void>;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mesh-follow-'));
    clock = new FakeClock('2026-01-01T00:00:00Z');
    stop = new AbortController();
    reads = 0;
    good = true;
  });
  afterEach(async () => {
    stop.abort();
    await following;
    rmSync(folder, { recursive: true });
  });

  const follow = (): void => {
    const read = async (): Promise<boolean> => {
      reads += 1;
      return good;
    };
    const paths = [join(folder, 'a'), join(folder, 'b')];
    following = followChanges({ paths, read, sleep: clock.sleep.bind(clock), signal: stop.signal });
  };
  const put = (name: string): void => writeFileSync(join(folder, name), name);
  /** Until somebody sleeps for that long. */
  const sleepsFor = async (ms: number): Promise<void> => {
    while ((await clock.sleeping()) !== ms) await new Promise((resolve) => setImmediate(resolve));
  };

  it('are read once for a burst of changes', async () => {
    follow();
    await sleepsFor(10_000);
    put('a');
    await sleepsFor(100);
    put('b');
    put('a');
    await clock.wakeNext();
    await sleepsFor(10_000);
    expect(reads).to.equal(2);
  });

  it('are read again in a while when no event tells of a change, and sooner when they were wrong', async () => {
    good = false;
    follow();
    await sleepsFor(500);
    good = true;
    await clock.wakeNext();
    await sleepsFor(10_000);
    await clock.wakeNext();
    await sleepsFor(10_000);
    expect(reads).to.equal(3);
  });

  it('are not read for what happens to others beside them', async () => {
    follow();
    await sleepsFor(10_000);
    const watcher = watch(folder);
    put('c');
    await once(watcher, 'change');
    await new Promise((resolve) => setImmediate(resolve));
    watcher.close();
    expect(await clock.sleeping()).to.equal(10_000);
    expect(reads).to.equal(1);
  });

  it('are read when the link of a projected volume changes', async () => {
    follow();
    await sleepsFor(10_000);
    put('..data');
    await sleepsFor(100);
    await clock.wakeNext();
    await sleepsFor(10_000);
    expect(reads).to.equal(2);
  });

  it('may be in a folder that is not there yet', async () => {
    rmSync(folder, { recursive: true });
    follow();
    await sleepsFor(10_000);
    expect(reads).to.equal(1);
    folder = mkdtempSync(join(tmpdir(), 'mesh-follow-'));
  });
});
