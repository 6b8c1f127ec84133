import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { MeshError } from '../../lib/errors.ts';
import type { Host } from '../host.ts';
import { type Entry, formatJson, formatPlain } from './format.ts';
import { parseLevels, passes, type ScopeLevels } from './levels.ts';
import type { LogFields, Logger } from './logger.ts';
import { RotatingFile } from './rotating-file.ts';

/** The logging flags, by their names on the command line. */
export interface LoggingOptions {
  readonly log_as_json: boolean;
  /** Comma-separated scopes. */
  readonly log_caller: string;
  readonly log_output_level: string;
  readonly log_rotate: string;
  readonly log_rotate_max_age: number;
  readonly log_rotate_max_backups: number;
  /** Megabytes. */
  readonly log_rotate_max_size: number;
  readonly log_stacktrace_level: string;
  readonly log_target: readonly string[];
}

export interface Logging {
  /** The logger of a scope; scopes without a level of their own have that of `default`. */
  scope(name: string): Logger;
  /** Changes minimum levels while running: `<scope>:<level>,...`; scopes that are not named keep theirs. */
  setLevel(levels: string): void;
  /** Writes out what is pending and closes the files. */
  close(): Promise<void>;
}

type LogMethod = (message: string, fields?: LogFields) => void;
type WriteEntry = (scope: string, level: Entry['level'], message: string, fields: LogFields, from: LogMethod) => void;

const MEGABYTE = 1024 * 1024;

/**
 * Opens the log: winston, with one stream for each target.
 * @throws MeshError `usage` for a level that does not exist, `failed_precondition` for a file that cannot be opened
 */
export async function createLogging(options: LoggingOptions, host: Pick<Host, 'stdout' | 'stderr' | 'now'>): Promise<Logging> {
  let levels = parseLevels('--log_output_level', options.log_output_level);
  const stackLevels = parseLevels('--log_stacktrace_level', options.log_stacktrace_level);
  const callerScopes = new Set(options.log_caller.split(',').map((scope) => scope.trim()));
  const { streams, files } = await openTargets(options, host);
  // The bundle gives a CommonJS module its default export only.
  const { createLogger, format, transports } = (await import('winston')).default;
  const render = options.log_as_json ? formatJson : formatPlain;
  const winston = createLogger({
    level: 'debug',
    format: format.printf((info) => render(info['entry'] as Entry)),
    transports: streams.map((stream) => new transports.Stream({ stream, eol: '\n' })),
  });
  const tracing = options.log_caller !== '' || [...stackLevels.values()].some((level) => level !== 'none');
  if (tracing) process.setSourceMapsEnabled(true);

  const write: WriteEntry = (scope, level, message, fields, from) => {
    if (!passes(levels, scope, level)) return;
    const entry: Entry = {
      time: host.now(),
      level,
      scope,
      message,
      fields,
      ...traceOf(from, callerScopes.has(scope), stackLevels, scope, level),
    };
    winston.log({ level, message, entry });
  };
  return {
    scope: (name) => scopeLogger(name, write),
    setLevel: (text) => {
      levels = new Map([...levels, ...parseLevels('level', text)]);
    },
    close: async () => {
      winston.end();
      await once(winston, 'finish');
      await Promise.all(files.map((file) => finished(file.end())));
    },
  };
}

function scopeLogger(scope: string, write: WriteEntry): Logger {
  const method = (level: Entry['level']): LogMethod => {
    const log: LogMethod = (message, fields = {}) => write(scope, level, message, fields, log);
    return log;
  };
  return { debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') };
}

/** Where the log method was called from, as far as the flags ask for it. */
function traceOf(
  from: LogMethod,
  wantsCaller: boolean,
  stackLevels: ScopeLevels,
  scope: string,
  level: Entry['level'],
): { readonly caller?: string; readonly stack?: string } {
  const wantsStack = passes(stackLevels, scope, level);
  if (!wantsCaller && !wantsStack) return {};
  const trace: { stack?: string } = {};
  Error.captureStackTrace(trace, from);
  const frames = (trace.stack ?? '').split('\n').slice(1);
  const caller = /\(?((?:file:\/\/|\/)?[^\s()]+:\d+):\d+\)?$/.exec(frames[0] ?? '')?.[1];
  return { ...(wantsCaller && caller !== undefined ? { caller } : {}), ...(wantsStack ? { stack: frames.join('\n') } : {}) };
}

interface Targets {
  readonly streams: readonly Writable[];
  /** Those of the streams that are ours to close. */
  readonly files: readonly Writable[];
}

async function openTargets(options: LoggingOptions, host: Pick<Host, 'stdout' | 'stderr' | 'now'>): Promise<Targets> {
  const standard: Readonly<Record<string, Writable>> = { stdout: host.stdout, stderr: host.stderr };
  const names = [...new Set(options.log_target)];
  const paths = names.filter((name) => !Object.hasOwn(standard, name));
  const report = (flag: string, path: string) => (error: unknown) =>
    host.stderr.write(`error: ${cannotWrite(flag, path, error).message}\n`);
  const files: Writable[] = [];
  for (const path of paths) files.push(await openFile(path, report('--log_target', path)));
  if (options.log_rotate !== '') files.push(openRotating(options, host, report('--log_rotate', options.log_rotate)));
  const chosen = names.flatMap((name) => (Object.hasOwn(standard, name) && standard[name] !== undefined ? [standard[name]] : []));
  return { streams: [...chosen, ...files], files };
}

async function openFile(path: string, report: (error: unknown) => void): Promise<Writable> {
  const file = createWriteStream(path, { flags: 'a', mode: 0o640 });
  try {
    await once(file, 'open');
  } catch (error) {
    throw cannotWrite('--log_target', path, error);
  }
  return file.on('error', report);
}

function openRotating(options: LoggingOptions, host: Pick<Host, 'now'>, report: (error: unknown) => void): Writable {
  const limits = {
    maxBytes: options.log_rotate_max_size * MEGABYTE,
    maxAgeDays: options.log_rotate_max_age,
    maxBackups: options.log_rotate_max_backups,
  };
  try {
    return new RotatingFile(options.log_rotate, limits, host.now).on('lost', report);
  } catch (error) {
    throw cannotWrite('--log_rotate', options.log_rotate, error);
  }
}

function cannotWrite(flag: string, path: string, error: unknown): MeshError {
  return new MeshError('failed_precondition', `${flag}: "${path}" cannot be written: ${MeshError.from(error).message}`, error);
}
