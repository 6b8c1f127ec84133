import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { awaitFiles, type FollowedFiles, followFiles } from '../../../../src/io/file/follow-files.ts';
import type { Parsed } from '../../../../src/lib/errors.ts';
import { MemoryLogger } from '../../../fakes/memory-logger.ts';

function parseNumber(text: string): Parsed<number> {
  const value = Number(text);
  return Number.isNaN(value) ? { ok: false, problems: [{ path: '', line: 1, message: 'is not a number' }] } : { ok: true, value };
}

describe('a file that is followed', () => {
  let dir: string;
  let path: string;
  let stop: AbortController;
  let logger: MemoryLogger;
  let changed: PromiseWithResolvers<void>;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-config-file-'));
    path = join(dir, 'config');
    stop = new AbortController();
    logger = new MemoryLogger();
    changed = Promise.withResolvers();
  });

  afterEach(() => {
    stop.abort();
    rmSync(dir, { recursive: true, force: true });
  });

  const options = () => ({
    paths: [path],
    title: 'answer',
    parse: ([text = '']: readonly string[]) => parseNumber(text),
    onChange: () => changed.resolve(),
    logger,
    signal: stop.signal,
  });
  const follow = (): Promise<FollowedFiles<number>> => followFiles(options());

  it('gives the new content', async () => {
    writeFileSync(path, '42');
    const file = await follow();
    expect(file.value()).to.equal(42);
    writeFileSync(path, '43');
    await changed.promise;
    expect(file.value()).to.equal(43);
  });

  it('is followed through the links that a mounted ConfigMap is made of', async () => {
    writeFileSync(join(dir, 'first'), '1');
    writeFileSync(join(dir, 'second'), '2');
    symlinkSync('first', join(dir, '..data'));
    symlinkSync('..data', path);
    const file = await follow();
    symlinkSync('second', join(dir, '..data_tmp'));
    renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
    await changed.promise;
    expect(file.value()).to.equal(2);
  });

  it('keeps the last good content, says what is wrong once, and takes the next good one', async () => {
    writeFileSync(path, '42');
    const file = await follow();
    writeFileSync(path, 'forty-three');
    while (file.problems().length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(file.value()).to.equal(42);
    expect(file.problems()[0]?.message).to.equal(`the answer is invalid: ${path}:1: is not a number`);
    expect(logger.entries).to.have.length(1);
    writeFileSync(path, '44');
    await changed.promise;
    expect(file.value()).to.equal(44);
    expect(file.problems()).to.deep.equal([]);
  });

  it('may come later, and stays in force when it goes again', async () => {
    const file = awaitFiles(options());
    expect(file.value()).to.equal(undefined);
    writeFileSync(path, 'forty-two');
    while (file.problems().length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect([file.value(), logger.entries[0]?.message]).to.deep.equal([undefined, 'answer refused; still waiting for a good one']);
    writeFileSync(path, '42');
    await changed.promise;
    expect(file.value()).to.equal(42);
    rmSync(path);
    while (file.problems().length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(file.value()).to.equal(42);
    expect(logger.entries).to.have.length(2);
  });

  it('is an error when it is bad or missing at start', async () => {
    const failure = await follow().then(
      () => '',
      (error: Error) => error.message,
    );
    expect(failure).to.match(/^the answer file .*config cannot be read: ENOENT/);
  });
});
