/** What code logs with; winston stands behind it (io/log/winston.ts), or memory in tests. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  /** Messages are constant texts in lower case; data goes into fields, so that logs can be searched. */
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Drops everything. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
