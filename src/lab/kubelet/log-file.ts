import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** A container's log keeps at most this much, and once more in `.1`. */
const MAX_BYTES = 10 * 1024 * 1024;

/** Appends what a process prints to a file that cannot grow without bound: a full one becomes `<file>.1`. */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #fd: number | undefined;
  #size = 0;

  constructor(path: string, maxBytes = MAX_BYTES) {
    this.#path = path;
    this.#maxBytes = maxBytes;
  }

  write(chunk: Uint8Array | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (this.#size + bytes.length > this.#maxBytes && this.#size > 0) this.#rotate();
    writeSync(this.#open(), bytes);
    this.#size += bytes.length;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd;
    mkdirSync(dirname(this.#path), { recursive: true });
    this.#fd = openSync(this.#path, 'a', 0o600);
    this.#size = fstatSync(this.#fd).size;
    return this.#fd;
  }

  #rotate(): void {
    this.close();
    renameSync(this.#path, `${this.#path}.1`);
    this.#size = 0;
  }
}
