import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect } from 'chai';
import type { RotationLimits } from '../../../../src/io/log/backups.ts';
import { lossReport } from '../../../../src/io/log/loss-report.ts';
import { openRotatingFile } from '../../../../src/io/log/rotating-file.ts';
import { MeshError } from '../../../../src/lib/errors.ts';

const NO_LIMITS: RotationLimits = { maxBytes: 0, maxAgeDays: 0, maxBackups: 0 };
const DAY_MS = 86_400_000;
const KIB = 1024;

describe('rotating log file', () => {
  let dir: string;
  let now: Date;
  let told: string;
  const stderr = new Writable({
    write: (chunk, _encoding, done) => {
      told += String(chunk);
      done();
    },
  });
  const clock = () => now;
  const open = (limits: Partial<RotationLimits>, name = 'mesh.log') =>
    openRotatingFile(join(dir, name), { ...NO_LIMITS, ...limits }, clock, lossReport('the log', stderr, clock));
  const close = (file: Writable) => finished(file.end());
  const refusal = async (name = 'mesh.log') =>
    MeshError.from(
      await open({}, name).then(
        () => undefined,
        (error: unknown) => error,
      ),
    ).message;
  const link = () => join(dir, 'mesh.log');
  /** The texts of all files, the oldest first, as far as their names order them. */
  const texts = () =>
    readdirSync(dir)
      .filter((name) => name !== 'mesh.log')
      .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
      .map((name) => readFileSync(join(dir, name), 'utf8'));
  /** More than a kibibyte, so that the next line goes into the next file. */
  const long = (text: string) => `${text.padEnd(KIB, '.')}\n`;
  const shown = () => texts().map((text) => text.replace(/\.*\n/g, ' ').trim());

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-rotate-'));
    now = new Date();
    told = '';
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('rotates once it is larger than it may be, and loses no line', async () => {
    const file = await open({ maxBytes: KIB });
    for (const line of ['a\n', long('b'), 'c\n', long('d'), long('e'), 'f\n']) file.write(line);
    await close(file);
    expect(shown().sort()).to.deep.equal(['a b', 'c d', 'e', 'f']);
    expect(readFileSync(link(), 'utf8')).to.equal('f\n');
    expect(told).to.equal('');
  });

  it('never rotates by size without a limit', async () => {
    const file = await open({});
    for (let i = 0; i < 100; i++) file.write(long(`${i}`));
    await close(file);
    expect(texts()).to.have.length(1);
    expect(readFileSync(link(), 'utf8').split('\n')).to.have.length(101);
  });

  it('keeps exactly the newest backups, also in a short run', async () => {
    const file = await open({ maxBytes: KIB, maxBackups: 3 });
    for (let i = 0; i < 50; i++) file.write(long(`${i}`));
    await close(file);
    expect(shown().sort()).to.deep.equal(['46', '47', '48', '49']);
  });

  it('keeps exactly the newest backups when each line has a turn of its own, too', async () => {
    const file = await open({ maxBytes: KIB, maxBackups: 3 });
    for (let i = 0; i < 15; i++) await new Promise((done) => file.write(long(`${i}`), () => setImmediate(done)));
    await close(file);
    expect(shown().sort()).to.deep.equal(['11', '12', '13', '14']);
  });

  it('rotates by age, and removes backups that are too old', async () => {
    const file = await open({ maxAgeDays: 2 });
    file.write('first\n');
    await new Promise(setImmediate);
    now = new Date(now.getTime() + 2 * DAY_MS);
    file.write('second\n');
    await close(file);
    expect(texts()).to.deep.equal(['first\n', 'second\n']);
    const backup = readdirSync(dir).find((name) => name !== 'mesh.log' && name !== readlinkSync(link())) ?? '';
    utimesSync(join(dir, backup), new Date(0), new Date(0));
    await close(await open({ maxAgeDays: 2 }));
    expect(texts()).to.deep.equal(['second\n']);
  });

  it('removes backups that become too old while nothing is rotated', async () => {
    const old = 'mesh-2026-01-01T00-00-00.000Z.log';
    const file = await open({ maxAgeDays: 30 });
    writeFileSync(join(dir, old), 'old\n');
    utimesSync(join(dir, old), new Date(0), new Date(0));
    file.write('a\n');
    expect(existsSync(join(dir, old))).to.equal(true);
    now = new Date(now.getTime() + 3_600_000);
    file.write('b\n');
    await close(file);
    expect(texts()).to.deep.equal(['a\nb\n']);
  });

  it('holds no more than 32 MiB until a file is open', async () => {
    const file = await open({});
    const line = Buffer.from('\n'.padStart(1 << 20, '.'));
    for (let i = 0; i < 40; i++) file.write(line);
    expect(told).to.match(/^error: the log cannot be written, .*: 34603008 bytes wait to be written\n$/);
    await new Promise(setImmediate);
    file.write('last\n');
    await close(file);
    expect(told).to.match(/\nwarning: the log is written again; lines lost: 7\n$/);
    expect(
      texts()
        .map((text) => text.length)
        .reduce((a, b) => a + b),
    ).to.equal(33 * line.length + 5);
  });

  it('goes on with the file of the run before, counting its size', async () => {
    for (const lines of [['one\n'], ['two\n', long('three')], ['four\n'], [long('five')], ['six\n']]) {
      const file = await open({ maxBytes: KIB });
      for (const line of lines) file.write(line);
      await close(file);
    }
    expect(shown().sort()).to.deep.equal(['four five', 'one two three', 'six']);
    expect(readFileSync(link(), 'utf8')).to.equal('six\n');
  });

  it('knows the order of files that several processes went on with', async () => {
    for (let run = 0; run < 6; run++) {
      const file = await open({ maxBytes: KIB, maxBackups: 4 });
      for (let i = 0; i < 3; i++) file.write(long(`${run}-${i}`));
      await close(file);
    }
    expect(shown().sort()).to.deep.equal(['4-1', '4-2', '5-0', '5-1', '5-2']);
  });

  it('makes a backup of the plain file that had the name', async () => {
    writeFileSync(link(), 'before\n');
    const file = await open({});
    file.write('after\n');
    await close(file);
    expect(texts()).to.have.members(['before\n', 'after\n']);
    expect(readFileSync(link(), 'utf8')).to.equal('after\n');
  });

  it('leaves files that are not its backups', async () => {
    const strangers = ['mesh-notes.log', 'mesh.log.gz', 'other-2026-01-01T00-00-00.000Z.log', 'mesh-2026-01-01.1.log'];
    for (const name of strangers) writeFileSync(join(dir, name), name);
    const file = await open({ maxBytes: KIB, maxBackups: 1 });
    for (let i = 0; i < 5; i++) file.write(long(`${i}`));
    await close(file);
    expect(readdirSync(dir))
      .to.have.length(strangers.length + 3)
      .and.include.members(strangers);
  });

  it('is for the owner and the group, and leaves nothing else behind', async () => {
    await close(await open({ maxBytes: KIB }));
    const names = readdirSync(dir);
    expect(names).to.have.length(2);
    expect(lstatSync(link()).isSymbolicLink()).to.equal(true);
    expect(statSync(link()).mode & 0o137).to.equal(0);
  });

  it('refuses what it would have to take away from others', async () => {
    mkdirSync(join(dir, 'a.log'));
    symlinkSync('/elsewhere/mesh.log', join(dir, 'b.log'));
    expect(await refusal('a.log')).to.equal('it is not a file');
    expect(await refusal('b.log')).to.equal('it is a link to /elsewhere/mesh.log; name that file itself');
  });

  for (const name of ['%DATE%.log', 'a?.log', 'a\nb.log', 'a:b.log', 'c|d/mesh.log'])
    it(`refuses the name ${JSON.stringify(name)}, which the package cannot have, and touches nothing`, async () => {
      mkdirSync(join(dir, 'c|d'));
      expect(await refusal(name)).to.match(
        /^the name of a rotated file cannot have " < > \| : \* \? \\ %DATE% or control characters$/,
      );
      expect([...readdirSync(dir), ...readdirSync(join(dir, 'c|d'))]).to.deep.equal(['c|d']);
    });

  describe('on a full disk', () => {
    const inUse = 'mesh-2026-01-03T00-00-00.000Z.log';
    const backups = ['mesh-2026-01-01T00-00-00.000Z.log', 'mesh-2026-01-02T00-00-00.000Z.log'];
    /** Linux's /dev/full answers every write as a full disk does. */
    beforeEach(() => {
      for (const name of backups) writeFileSync(join(dir, name), name);
      symlinkSync('/dev/full', join(dir, inUse));
      symlinkSync(inUse, link());
    });
    const loseMuch = async () => {
      const file = await open({ maxBytes: KIB, maxBackups: 2 });
      for (let i = 0; i < 10; i++) {
        file.write(long(`${i}`));
        await new Promise(setImmediate);
      }
      return file;
    };

    it('does not rotate for lines that are lost: no backup goes for an empty file', async () => {
      const file = await loseMuch();
      expect(readdirSync(dir)).to.have.members([...backups, inUse, 'mesh.log']);
      rmSync(join(dir, inUse));
      for (const line of ['a\n', 'b\n']) file.write(line);
      await close(file);
      expect(readFileSync(link(), 'utf8')).to.equal('a\nb\n');
      expect(readdirSync(dir)).to.have.members([...backups, inUse, 'mesh.log']);
      expect(told).to.match(/^error: .*ENOSPC.*\nwarning: the log is written again; lines lost: 10\n$/);
    });

    it('begins a new file afterwards if the link was lost, and keeps to the limit on backups', async () => {
      const file = await loseMuch();
      rmSync(link());
      rmSync(join(dir, inUse));
      for (const line of ['a\n', 'b\n', 'c\n']) file.write(line);
      await close(file);
      expect(readFileSync(link(), 'utf8')).to.equal('b\nc\n');
      expect(readFileSync(join(dir, inUse), 'utf8')).to.equal('a\n');
      expect(readdirSync(dir)).to.have.length(4).and.include(backups[1]).and.not.include(backups[0]);
    });
  });

  it('survives the loss of its directory', async () => {
    const file = await open({ maxBytes: KIB });
    file.write(long('a'));
    await new Promise(setImmediate);
    rmSync(dir, { recursive: true });
    writeFileSync(dir, 'a file in its place');
    file.write(long('b'));
    file.write('c\n');
    await new Promise(setImmediate);
    expect(told).to.match(/^error: the log cannot be written, its lines are lost until it can: .*\n$/);
    rmSync(dir);
    mkdirSync(dir);
    file.write('d\n');
    file.write('e\n');
    await close(file);
    expect(readFileSync(link(), 'utf8')).to.equal('e\n');
    expect(texts()).to.have.members(['d\n', 'e\n']);
    expect(told).to.match(/warning: the log is written again; lines lost: 2\n$/);
  });
});
