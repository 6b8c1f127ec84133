import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { MeshError } from '../../lib/errors.ts';

/** Told of every line, so that it can tell others when a log begins and ends to lose them. */
export interface LossReport {
  lost(error: MeshError): void;
  written(): void;
  /** Told of backups that should have been removed. */
  kept(error: MeshError): void;
}

/** Logs may tell about users: for the owner and the group. */
const MODE = 0o640;
/** A named pipe whose reader sleeps must not stop the component: what it does not take at once is lost. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY;
const NEWLINE = Buffer.from('\n');

/**
 * A log file that never fails once it is open: a line that cannot be written (a full disk, a file system gone read-only) is lost
 * and reported, and the next one tries again with the file opened anew. Writing is synchronous: what is logged takes no
 * memory, and a crash loses no line.
 */
export class LogFile {
  readonly #path: string;
  readonly #report: LossReport;
  #fd: number | undefined;
  /** A line was written in part: the next one must not continue it. */
  #torn = false;

  constructor(path: string, report: LossReport) {
    this.#path = path;
    this.#report = report;
  }

  /** @throws the system's error when it cannot be opened */
  open(): void {
    this.#fd ??= openSync(this.#path, FLAGS, MODE);
  }

  /** Whether it could be opened; otherwise the first line tries again, and reports. */
  tryOpen(): boolean {
    try {
      this.open();
      return true;
    } catch {
      return false;
    }
  }

  write(line: Uint8Array): void {
    try {
      this.open();
      if (this.#torn) this.#writeWhole(NEWLINE);
      this.#writeWhole(line);
      this.#report.written();
    } catch (thrown) {
      this.close();
      this.#report.lost(MeshError.from(thrown));
    }
  }

  close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    try {
      if (fd !== undefined) closeSync(fd);
    } catch {
      // Closing reports what an earlier write could not bring to the disk (NFS): those lines are lost whatever is done here.
    }
  }

  #writeWhole(bytes: Uint8Array): void {
    const fd = this.#fd;
    if (fd === undefined) return;
    for (let offset = 0; offset < bytes.length; ) {
      offset += writeSync(fd, bytes, offset);
      this.#torn = offset < bytes.length;
    }
  }
}
