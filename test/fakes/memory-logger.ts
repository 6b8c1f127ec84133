import type { LogFields, Logger } from '../../src/io/log/logger.ts';

export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

/** Keeps what is logged. */
export class MemoryLogger implements Logger {
  readonly entries: LogEntry[] = [];
  readonly #waiting = new Set<() => void>();

  debug(message: string, fields: LogFields = {}): void {
    this.#keep({ level: 'debug', message, fields });
  }

  info(message: string, fields: LogFields = {}): void {
    this.#keep({ level: 'info', message, fields });
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#keep({ level: 'warn', message, fields });
  }

  error(message: string, fields: LogFields = {}): void {
    this.#keep({ level: 'error', message, fields });
  }

  /** Resolves when this many entries are there. */
  async until(count: number): Promise<void> {
    while (this.entries.length < count) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #keep(entry: LogEntry): void {
    this.entries.push(entry);
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Everything as one text, as it could be written somewhere. */
  text(): string {
    return JSON.stringify(this.entries);
  }
}
