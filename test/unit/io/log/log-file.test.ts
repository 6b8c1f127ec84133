import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { LogFile } from '../../../../src/io/log/log-file.ts';
import { lossReport } from '../../../../src/io/log/loss-report.ts';
import { MeshError } from '../../../../src/lib/errors.ts';

describe('log file', () => {
  let dir: string;
  let told: string[];
  let now: number;
  const stderr = new Writable({
    write: (chunk, _encoding, done) => {
      told.push(String(chunk));
      done();
    },
  });
  const clock = () => new Date(now);

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-log-file-'));
    told = [];
    now = 0;
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('is made for the owner and the group', () => {
    const file = new LogFile(join(dir, 'mesh.log'), lossReport('the log', stderr, clock));
    file.open();
    file.close();
    expect(statSync(join(dir, 'mesh.log')).mode & 0o137).to.equal(0);
  });

  it('loses lines while the disk is full, says so once, and goes on when it can', () => {
    // Linux's /dev/full answers every write as a full disk does.
    const path = join(dir, 'mesh.log');
    symlinkSync('/dev/full', path);
    const file = new LogFile(path, lossReport('the log', stderr, clock));
    file.open();
    for (const line of ['a\n', 'b\n', 'c\n']) file.write(Buffer.from(line));
    expect(told).to.deep.equal([
      'error: the log cannot be written, its lines are lost until it can: ENOSPC: no space left on device, write\n',
    ]);
    unlinkSync(path);
    for (const line of ['d\n', 'e\n']) file.write(Buffer.from(line));
    expect(told.slice(1)).to.deep.equal(['warning: the log is written again; lines lost: 3\n']);
    expect(readFileSync(path, 'utf8')).to.equal('d\ne\n');
    file.close();
  });

  it('tells of a disk at the brink once a minute', () => {
    const report = lossReport('the log', stderr, clock);
    for (let i = 0; i < 10; i++) {
      report.lost(new MeshError('internal', 'full'));
      report.written();
    }
    expect(told).to.have.length(2);
    now = 60_000;
    report.lost(new MeshError('internal', 'full'));
    report.written();
    expect(told.slice(2)).to.deep.equal([
      'error: the log cannot be written, its lines are lost until it can: full\n',
      'warning: the log is written again; lines lost: 10\n',
    ]);
  });

  it('tells of an outage once, however long it is', () => {
    const report = lossReport('the log', stderr, clock);
    for (now = 0; now < 600_000; now += 10_000) report.lost(new MeshError('internal', 'full'));
    expect(told).to.have.length(1);
    report.written();
    expect(told[1]).to.equal('warning: the log is written again; lines lost: 60\n');
  });

  it('does not wait for the reader of a named pipe', () => {
    const path = join(dir, 'pipe');
    execFileSync('mkfifo', [path]);
    const file = new LogFile(path, lossReport('the log', stderr, clock));
    expect(() => file.open()).to.throw('ENXIO');
    expect(existsSync(path)).to.equal(true);
  });
});
