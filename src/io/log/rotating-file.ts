import { lstatSync, readdirSync, readlinkSync, renameSync, rmSync, type Stats, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { Writable } from 'node:stream';
import type DailyRotateFile from 'winston-daily-rotate-file';
import { MeshError } from '../../lib/errors.ts';
import {
  type Backup,
  DAY_MS,
  isLogFile,
  type LogFiles,
  logFilesOf,
  newBaseName,
  type RotationLimits,
  surplusBackups,
} from './backups.ts';
import { LogFile, type LossReport } from './log-file.ts';
import { streamFiles } from './stream-files.ts';

/** Where winston's transports find the line. */
const MESSAGE = Symbol.for('message');
/** Backups that became too old while nothing was rotated are looked for this often. */
const PRUNE_EVERY_MS = 3_600_000;
/** Bytes that a burst may leave between a rotation and the opening of the next file; further lines are lost, and reported. */
const MAX_PENDING = 32 * 1024 * 1024;
/** What the package refuses in a name (the first three in a folder's too), and would take for a date. */
const REFUSED_NAME = /["<>|:*?\\\p{Cc}]|%DATE%/u;
const REFUSED_FOLDER = /["<>|\p{Cc}]|%DATE%/u;
/** The package has no word for "no limit" that keeps the link. */
const NO_LIMIT = `${Number.MAX_SAFE_INTEGER}k`;

type Package = typeof DailyRotateFile;

/**
 * Opens a log that is rotated: `path` is a link to the file in use, `<name>-<time>.<ext>`. winston-daily-rotate-file rotates by
 * size and keeps the link; what it cannot do is done here: rotation by age, both limits on backups at once, going on
 * with the file of the process before, and surviving a full disk.
 * @throws the system's error when a file cannot be opened
 */
export async function openRotatingFile(
  path: string,
  limits: RotationLimits,
  now: () => Date,
  report: LossReport,
): Promise<Writable> {
  // The bundle gives a CommonJS module its default export only.
  const { default: transport } = await import('winston-daily-rotate-file');
  const rotation = new Rotation(transport, resolve(path), limits, now, report);
  rotation.open();
  return new Writable({
    write: (line: Buffer, _encoding, done) => {
      rotation.write(line);
      done();
    },
    final: (done) => {
      rotation.close().then(() => done(), done);
    },
  });
}

class Rotation {
  readonly #package: Package;
  readonly #path: string;
  readonly #files: LogFiles;
  readonly #limits: RotationLimits;
  readonly #now: () => Date;
  /** Told of lines that cannot be written; those that there is no memory for go to `#outer` alone. */
  readonly #report: LossReport;
  readonly #outer: LossReport;
  #transport: DailyRotateFile | undefined;
  /** The file that the package opened last. */
  #file: LogFile | undefined;
  #state: 'good' | 'failing' | 'recovered' = 'good';
  /** The name of the file in use. */
  #active = '';
  #startedAt = 0;
  #prunedAt = 0;
  /** Bytes that the package holds and has not written. */
  #pending = 0;

  constructor(transport: Package, path: string, limits: RotationLimits, now: () => Date, report: LossReport) {
    this.#package = transport;
    this.#path = path;
    this.#files = logFilesOf(path);
    this.#limits = limits;
    this.#now = now;
    this.#outer = report;
    this.#report = {
      ...report,
      lost: (error) => {
        this.#state = 'failing';
        report.lost(error);
      },
      written: () => {
        if (this.#state === 'failing') this.#state = 'recovered';
        report.written();
      },
    };
  }

  open(): void {
    if (REFUSED_NAME.test(basename(this.#path)) || REFUSED_FOLDER.test(this.#files.directory))
      throw new Error('the name of a rotated file cannot have " < > | : * ? \\ %DATE% or control characters');
    this.#makePlainFileABackup();
    const current = this.#fileInUse();
    const name = current?.name ?? this.#newName(this.#now());
    // The package opens later and reports nobody: what is wrong must be known now.
    const probe = new LogFile(join(this.#files.directory, name), this.#report);
    probe.open();
    probe.close();
    this.#begin(name, current === undefined ? this.#now().getTime() : startOf(current.stats));
    this.#prune();
  }

  write(line: Buffer): void {
    const now = this.#now().getTime();
    const { maxAgeDays } = this.#limits;
    try {
      if (this.#state === 'failing' && this.#file !== undefined) {
        // Past the package, which would count the bytes that are lost, rotate, and so give backups away for empty files.
        this.#file.write(line);
        return;
      }
      const tooOld = maxAgeDays > 0 && now - this.#startedAt >= maxAgeDays * DAY_MS && this.#isWritten();
      if (tooOld || this.#transport === undefined) this.#beginAnew();
      else if (this.#state === 'recovered') this.#recover();
      this.#state = 'good';
      if (now - this.#prunedAt >= PRUNE_EVERY_MS) this.#prune();
      this.#hand(line);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  async close(): Promise<void> {
    const stream = this.#transport?.logStream;
    if (stream === undefined) return;
    await new Promise<void>((done) => stream.end(() => done()));
  }

  /** The package throws when the directory itself is gone, and is of no use from then on. */
  #fail(thrown: unknown): void {
    this.#transport?.logStream.end();
    this.#transport = undefined;
    this.#file = undefined;
    this.#report.lost(MeshError.from(thrown));
  }

  #hand(line: Buffer): void {
    if (this.#pending > MAX_PENDING) {
      this.#outer.lost(new MeshError('resource_exhausted', `${this.#pending} bytes wait to be written`));
      return;
    }
    this.#transport?.log?.({ [MESSAGE]: line.toString('utf8') }, () => {});
    // Most lines are written by now: the balance is what waits.
    this.#pending += line.length;
  }

  #isWritten(): boolean {
    return (statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  }

  /** The package moves the link in two steps, and keeps to itself that the second one failed. */
  #isLinked(): boolean {
    try {
      return readlinkSync(this.#path) === this.#active;
    } catch {
      return false;
    }
  }

  /** Goes on with the file, whose true size a new instance of the package looks at, unless the link was lost. */
  #recover(): void {
    if (!this.#isLinked()) {
      this.#beginAnew();
      return;
    }
    this.#transport?.logStream.end();
    this.#begin(this.#active, this.#startedAt);
  }

  #beginAnew(): void {
    this.#transport?.logStream.end();
    this.#begin(this.#newName(this.#now()), this.#now().getTime());
    this.#prune();
  }

  /** A file name that nothing has yet, as near to `time` as its millisecond allows. */
  #newName(time: Date): string {
    const { directory, extension } = this.#files;
    for (let ms = time.getTime(); ; ms++) {
      const name = `${newBaseName(this.#files, new Date(ms))}${extension}`;
      if (lstatSync(join(directory, name), { throwIfNoEntry: false }) === undefined) return name;
    }
  }

  #begin(name: string, startedAt: number): void {
    const { directory, extension } = this.#files;
    this.#active = name;
    this.#startedAt = startedAt;
    const onWrite = (bytes: number): void => {
      this.#pending -= bytes;
    };
    const files = streamFiles((opened) => this.#opened(opened), onWrite);
    const transport = new this.#package({
      filename: join(directory, basename(name, extension)),
      extension,
      // A pattern without a date: the package never rotates by time, which it could do by the calendar only.
      datePattern: '[]',
      maxSize: this.#limits.maxBytes === 0 ? NO_LIMIT : `${this.#limits.maxBytes / 1024}k`,
      createSymlink: true,
      symlinkName: basename(this.#path),
      eol: '',
      // Only read for the package's own limit on backups, which is not used.
      auditFile: devNull,
      options: { flags: 'a', fs: files },
    });
    transport.logStream.on('error', (error: Error) => this.#fail(error));
    this.#transport = transport;
  }

  #opened(path: string): LogFile {
    const file = new LogFile(path, this.#report);
    this.#file = file;
    this.#began(basename(path), file.tryOpen());
    return file;
  }

  #began(name: string, isThere: boolean): void {
    if (name === this.#active) return;
    this.#active = name;
    this.#startedAt = this.#now().getTime();
    if (isThere) this.#prune();
  }

  /** What is left of a time before the log was rotated, or of another program, is kept as the first backup. */
  #makePlainFileABackup(): void {
    const stats = lstatSync(this.#path, { throwIfNoEntry: false });
    if (stats === undefined || stats.isSymbolicLink()) return;
    if (!stats.isFile()) throw new Error('it is not a file');
    renameSync(this.#path, join(this.#files.directory, this.#newName(stats.mtime)));
  }

  /** The file that the process before wrote, if it is still there. */
  #fileInUse(): { readonly name: string; readonly stats: Stats } | undefined {
    if (lstatSync(this.#path, { throwIfNoEntry: false }) === undefined) return undefined;
    const name = readlinkSync(this.#path);
    // The package would replace the link, which somebody made for a reason.
    if (!isLogFile(this.#files, name)) throw new Error(`it is a link to ${name}; name that file itself`);
    const stats = statSync(this.#path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : { name, stats };
  }

  /** Never throws: a backup that stays is no reason to lose a line. */
  #prune(): void {
    this.#prunedAt = this.#now().getTime();
    try {
      const surplus = surplusBackups(this.#files, this.#findBackups(), this.#limits, this.#now());
      for (const { name } of surplus) rmSync(join(this.#files.directory, name), { force: true });
    } catch (thrown) {
      this.#report.kept(MeshError.from(thrown));
    }
  }

  #findBackups(): readonly Backup[] {
    const { directory } = this.#files;
    return readdirSync(directory)
      .filter((name) => name !== this.#active && isLogFile(this.#files, name))
      .flatMap((name) => {
        const stats = lstatSync(join(directory, name), { throwIfNoEntry: false });
        return stats?.isFile() === true ? [{ name, modifiedAt: stats.mtimeMs }] : [];
      });
  }
}

/** Not every file system knows when a file was made. */
const startOf = ({ birthtimeMs, mtimeMs }: Stats): number => (birthtimeMs > 0 ? birthtimeMs : mtimeMs);
