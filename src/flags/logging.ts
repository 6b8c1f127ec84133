import { flagTable } from './table.ts';

/** The logging flags that every long-running component carries, on its root and on each of its subcommands. */
export const loggingFlags = flagTable({
  log_as_json: { type: 'bool', default: false, summary: 'output as JSON instead of the plain console format' },
  log_caller: {
    type: 'string',
    default: '',
    summary: 'comma-separated scopes for which caller information is included; scope: default',
  },
  log_output_level: {
    type: 'string',
    default: 'default:info',
    summary: 'minimum level of output, as <scope>:<level>,...; levels: debug, info, warn, error, none',
  },
  log_rotate: { type: 'string', default: '', summary: 'path of the optional rotating log file' },
  log_rotate_max_age: {
    type: 'int',
    default: 30,
    min: 0,
    summary: 'days after which a log file is rotated; 0 means no limit',
  },
  log_rotate_max_backups: {
    type: 'int',
    default: 1000,
    min: 0,
    summary: 'log file backups kept; 0 means no limit',
  },
  log_rotate_max_size: {
    type: 'int',
    default: 104857600,
    min: 0,
    summary: 'size in megabytes beyond which a log file is rotated; 0 means no limit',
  },
  log_stacktrace_level: {
    type: 'string',
    default: 'default:none',
    summary: 'minimum level at which stack traces are captured, as <scope>:<level>,...; levels as above',
  },
  log_target: {
    type: 'stringArray',
    default: ['stdout'],
    summary: 'output paths, repeatable; the special values stdout and stderr stand for the streams',
  },
});

export type LoggingFlags = typeof loggingFlags;
