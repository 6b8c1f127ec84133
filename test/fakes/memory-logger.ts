import type { LogFields, Logger } from '../../src/io/log/logger.ts';

/** Keeps what was logged, as `level: message`. */
export class MemoryLogger implements Logger {
  readonly lines: string[] = [];
  readonly fields: LogFields[] = [];

  debug(message: string, fields?: LogFields): void {
    this.#keep('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#keep('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#keep('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#keep('error', message, fields);
  }

  #keep(level: string, message: string, fields: LogFields = {}): void {
    this.lines.push(`${level}: ${message}`);
    this.fields.push(fields);
  }
}
