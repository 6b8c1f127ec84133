import { closeSync, fstatSync, openSync, readdirSync, renameSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { Writable } from 'node:stream';

export interface RotationLimits {
  /** Bytes beyond which the file is rotated; 0 means no limit. */
  readonly maxBytes: number;
  /** Days after which the file is rotated and a backup removed; 0 means no limit. */
  readonly maxAgeDays: number;
  /** Backups kept; 0 means no limit. */
  readonly maxBackups: number;
}

const DAY_MS = 86_400_000;
/** Logs may tell about users: for the owner and the group. */
const MODE = 0o640;

/**
 * A log file that is renamed to `<name>-<time>.<ext>` when a line would make it too large or when it is too old, and whose
 * surplus backups are removed. The path always names the file in use. Writing is synchronous: a crash loses no line.
 */
export class RotatingFile extends Writable {
  readonly #path: string;
  readonly #limits: RotationLimits;
  readonly #now: () => Date;
  #fd: number;
  #size: number;
  #startedAt: number;
  #last = { time: '', number: 0 };

  /** @throws the system's error when the file cannot be opened */
  constructor(path: string, limits: RotationLimits, now: () => Date) {
    super({ decodeStrings: true });
    this.#path = path;
    this.#limits = limits;
    this.#now = now;
    this.#fd = openSync(path, 'a', MODE);
    const stats = fstatSync(this.#fd);
    this.#size = stats.size;
    this.#startedAt = stats.size === 0 ? now().getTime() : stats.birthtimeMs;
    this.#prune();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    try {
      if (this.#isFull(chunk.length)) this.#rotate();
      for (let offset = 0; offset < chunk.length; ) offset += writeSync(this.#fd, chunk, offset);
      this.#size += chunk.length;
      done();
    } catch (error) {
      // A full disk must not end the logging: the line is lost, the stream goes on.
      this.emit('lost', error);
      done();
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    closeSync(this.#fd);
    done(error);
  }

  #isFull(extra: number): boolean {
    if (this.#size === 0) return false;
    const { maxBytes, maxAgeDays } = this.#limits;
    const tooLarge = maxBytes > 0 && this.#size + extra > maxBytes;
    return tooLarge || (maxAgeDays > 0 && this.#now().getTime() - this.#startedAt >= maxAgeDays * DAY_MS);
  }

  #rotate(): void {
    renameSync(this.#path, this.#backupPath());
    closeSync(this.#fd);
    this.#fd = openSync(this.#path, 'a', MODE);
    this.#size = 0;
    this.#startedAt = this.#now().getTime();
    this.#prune();
  }

  /** A name later than every earlier one: rotations within one millisecond are numbered, also after backups were removed. */
  #backupPath(): string {
    const extension = extname(this.#path);
    const stem = this.#path.slice(0, this.#path.length - extension.length);
    const time = this.#now().toISOString().replaceAll(':', '-');
    for (let number = time === this.#last.time ? this.#last.number + 1 : 0; ; number++) {
      const path = `${stem}-${time}.${String(number).padStart(4, '0')}${extension}`;
      this.#last = { time, number };
      if (statSync(path, { throwIfNoEntry: false }) === undefined) return path;
    }
  }

  #prune(): void {
    const { maxAgeDays, maxBackups } = this.#limits;
    const oldest = this.#now().getTime() - maxAgeDays * DAY_MS;
    const newestFirst = this.#backups().reverse();
    newestFirst.forEach((path, index) => {
      const surplus = maxBackups > 0 && index >= maxBackups;
      const stale = maxAgeDays > 0 && (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < oldest;
      if (surplus || stale) unlinkIfThere(path);
    });
  }

  /** The backups by age, the oldest first: their names sort by time. */
  #backups(): string[] {
    const folder = dirname(this.#path);
    const extension = extname(this.#path);
    const stem = basename(this.#path, extension);
    const backup = /^-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\.\d{4,}$/;
    return readdirSync(folder)
      .filter((name) => name.startsWith(stem) && name.endsWith(extension))
      .filter((name) => backup.test(name.slice(stem.length, name.length - extension.length)))
      .sort()
      .map((name) => join(folder, name));
  }
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
