import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { expect } from 'chai';
import { RotatingFile, type RotationLimits } from '../../../../src/io/log/rotating-file.ts';

const NO_LIMITS: RotationLimits = { maxBytes: 0, maxAgeDays: 0, maxBackups: 0 };
const DAY_MS = 86_400_000;

describe('rotating log file', () => {
  let dir: string;
  let now: Date;
  const clock = () => now;
  const open = (limits: Partial<RotationLimits>) => new RotatingFile(join(dir, 'mesh.log'), { ...NO_LIMITS, ...limits }, clock);
  const close = (file: RotatingFile) => finished(file.end());
  const texts = () =>
    readdirSync(dir)
      .sort()
      .map((name) => readFileSync(join(dir, name), 'utf8'));

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-rotate-'));
    now = new Date();
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('rotates before a line would make it too large, and loses none', async () => {
    const file = open({ maxBytes: 10 });
    for (const line of ['12345\n', '6789\n', 'longer than a file may be\n', 'a\n']) file.write(line);
    await close(file);
    expect(texts()).to.deep.equal(['12345\n', '6789\n', 'longer than a file may be\n', 'a\n']);
    expect(readFileSync(join(dir, 'mesh.log'), 'utf8')).to.equal('a\n');
  });

  it('keeps exactly the newest backups, also in a short run', async () => {
    const file = open({ maxBytes: 1, maxBackups: 3 });
    for (let i = 0; i < 50; i++) file.write(`${i}\n`);
    await close(file);
    expect(texts()).to.deep.equal(['46\n', '47\n', '48\n', '49\n']);
  });

  it('rotates by age, and removes backups that are too old', async () => {
    const file = open({ maxAgeDays: 2 });
    file.write('first\n');
    now = new Date(now.getTime() + 2 * DAY_MS);
    file.write('second\n');
    await close(file);
    expect(texts()).to.deep.equal(['first\n', 'second\n']);
    const backup = readdirSync(dir).find((name) => name !== 'mesh.log') ?? '';
    utimesSync(join(dir, backup), new Date(0), new Date(0));
    await close(open({ maxAgeDays: 2 }));
    expect(texts()).to.deep.equal(['second\n']);
  });

  it('goes on with the file of the run before, counting its size', async () => {
    writeFileSync(join(dir, 'mesh.log'), 'before\n');
    const file = open({ maxBytes: 10 });
    file.write('after\n');
    await close(file);
    expect(texts()).to.deep.equal(['before\n', 'after\n']);
  });

  it('leaves files that are not its backups', async () => {
    for (const name of ['mesh-notes.log', 'mesh.log.gz', 'other-2026-01-01T00-00-00.000Z.0000.log'])
      writeFileSync(join(dir, name), name);
    const file = open({ maxBytes: 1, maxBackups: 1 });
    for (let i = 0; i < 5; i++) file.write(`${i}\n`);
    await close(file);
    expect(readdirSync(dir)).to.have.length(5).and.include.members(['mesh-notes.log', 'mesh.log.gz']);
  });
});
