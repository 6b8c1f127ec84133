import type { Writable } from 'node:stream';
import type { LogFields, Logger } from '../io/log/logger.ts';

/** One line a message: time, level, message, fields as JSON. */
export function lineLogger(output: Writable, now: () => Date): Logger {
  const line =
    (level: string) =>
    (message: string, fields?: LogFields): void => {
      output.write(`${now().toISOString()}\t${level}\t${message}${fields === undefined ? '' : `\t${JSON.stringify(fields)}`}\n`);
    };
  return { debug() {}, info: line('info'), warn: line('warn'), error: line('error') };
}
