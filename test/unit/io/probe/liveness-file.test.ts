import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, unlinkSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { keepLivenessFile } from '../../../../src/io/probe/liveness-file.ts';
import { milliseconds, seconds } from '../../../../src/lib/duration.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { MemoryLogger } from '../../../fakes/memory-logger.ts';

describe('the liveness file', () => {
  let dir: string;
  let stop: AbortController;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-live-'));
    stop = new AbortController();
  });
  afterEach(() => {
    stop.abort();
    rmSync(dir, { recursive: true, force: true });
  });

  function keep(
    check: () => Promise<void>,
    checkInterval = seconds(60),
  ): { readonly path: string; readonly logger: MemoryLogger; readonly done: Promise<void> } {
    const path = join(dir, 'live');
    const logger = new MemoryLogger();
    const done = keepLivenessFile({
      path,
      title: 'the authority',
      interval: milliseconds(10),
      checkInterval,
      check,
      logger,
      signal: stop.signal,
    });
    return { path, logger, done };
  }

  it('is written again and again while the server works', async () => {
    const watcher = watch(dir, { signal: stop.signal });
    const { path, done } = keep(async () => {});
    const written = async (): Promise<void> => {
      while (!existsSync(path) || readFileSync(path, 'utf8') !== 'ok') await once(watcher, 'change');
    };
    await written();
    unlinkSync(path);
    await written();
    stop.abort();
    await done;
  });

  it('is never written by a server that does not work', async () => {
    let checks = 0;
    const third = Promise.withResolvers<void>();
    const { path, logger, done } = keep(async () => {
      checks += 1;
      if (checks === 3) third.resolve();
      throw new MeshError('internal', 'the key is gone');
    }, milliseconds(20));
    await third.promise;
    stop.abort();
    await done;
    expect(() => readFileSync(path)).to.throw('ENOENT');
    expect(logger.text()).to.contain('the key is gone');
  });
});
