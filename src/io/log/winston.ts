import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { MeshError } from '../../lib/errors.ts';
import type { Host } from '../host.ts';
import { type Entry, formatJson, formatPlain } from './format.ts';
import { DEFAULT_SCOPE, parseLevels, parseScopes, reaches, requireFlag } from './levels.ts';
import type { LogFields, Logger } from './logger.ts';
import { LogScopes } from './scopes.ts';
import { openTargets, type TargetOptions } from './targets.ts';
import { traceOf } from './trace.ts';

/** The logging flags, by their names on the command line. */
export interface LoggingOptions extends TargetOptions {
  readonly log_as_json: boolean;
  /** Comma-separated scopes. */
  readonly log_caller: string;
  readonly log_output_level: string;
  readonly log_stacktrace_level: string;
}

export interface Logging<Scope extends string = string> {
  scope(name: Scope): Logger;
  /** The levels, to be shown and changed while running. */
  readonly scopes: LogScopes;
  /** Writes out what is pending and closes the files; what is logged later is dropped. */
  close(): Promise<void>;
}

export type LoggingHost = Pick<Host, 'stdout' | 'stderr' | 'now'>;

/** Where winston keeps the line that `format` made. */
const MESSAGE = Symbol.for('message');

type LogMethod = (message: string, fields?: LogFields) => void;
type WriteEntry = (scope: string, level: Entry['level'], message: string, fields: LogFields, from: LogMethod) => void;

/**
 * Opens the log: winston, with one stream for each target. `names` are the component's scopes, `default` among them.
 * @throws MeshError `usage` for a level or scope that does not exist, `failed_precondition` for a file that cannot be opened
 */
export async function createLogging<const Scope extends string = typeof DEFAULT_SCOPE>(
  options: LoggingOptions,
  host: LoggingHost,
  names: readonly Scope[] = [DEFAULT_SCOPE as Scope],
): Promise<Logging<Scope>> {
  const scopes = new LogScopes({
    names,
    output: requireFlag('log_output_level', parseLevels(options.log_output_level, names)),
    stack: requireFlag('log_stacktrace_level', parseLevels(options.log_stacktrace_level, names)),
    callers: requireFlag('log_caller', parseScopes(options.log_caller, names)),
  });
  const { streams, files } = await openTargets(options, host);
  // The bundle gives a CommonJS module its default export only.
  const { createLogger, format, transports } = (await import('winston')).default;
  const render = neverFailing(options.log_as_json ? formatJson : formatPlain);
  const winston = createLogger({
    level: 'debug',
    format: format.printf((info) => render(info['entry'] as Entry)),
    transports: streams.map((stream) => new transports.Stream({ stream, log: (line, next) => write(stream, line, next) })),
  });
  let closed = false;
  const writeEntry: WriteEntry = (scope, level, message, fields, from) => {
    if (closed || !reaches(scopes.outputLevel(scope), level)) return;
    const trace = traceOf(from, scopes.logsCaller(scope), reaches(scopes.stackTraceLevel(scope), level));
    const entry: Entry = { time: host.now(), level, scope, message, fields, ...trace };
    winston.log({ level, message, entry });
  };
  return {
    scope: (name) => scopeLogger(name, writeEntry),
    scopes,
    close: async () => {
      if (closed) return;
      closed = true;
      winston.end();
      await once(winston, 'finish');
      await Promise.all(files.map((file) => finished(file.end())));
    },
  };
}

/** In place of the transport's own, which keeps each line until the end of the turn to tell listeners that it was logged. */
function write(stream: Writable, line: Readonly<Record<symbol, string>>, next: () => void): void {
  stream.write(`${line[MESSAGE]}\n`);
  next();
}

/** A field whose getter throws costs its line the fields, not the caller its call. */
function neverFailing(render: (entry: Entry) => string): (entry: Entry) => string {
  return (entry) => {
    try {
      return render(entry);
    } catch (thrown) {
      return render({ ...entry, fields: { unprintable: MeshError.from(thrown).message } });
    }
  };
}

function scopeLogger(scope: string, write: WriteEntry): Logger {
  const method = (level: Entry['level']): LogMethod => {
    const log: LogMethod = (message, fields = {}) => write(scope, level, message, fields, log);
    return log;
  };
  return { debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') };
}
