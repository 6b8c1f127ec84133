import { DEFAULT_SCOPE, parseLevels, parseScopes } from '../io/log/levels.ts';
import { flagTable } from './table.ts';

/**
 * The logging flags that every long-running component carries, on its root and on each of its subcommands. Levels and scopes
 * are checked when the command line is read; `scopes` are the component's, `default` among them.
 */
export function loggingFlagsFor(scopes: readonly string[]) {
  const known = scopes.join(', ');
  const levels = (text: string) => parseLevels(text, scopes);
  return flagTable({
    log_as_json: { type: 'bool', default: false, summary: 'output as JSON instead of the plain console format' },
    log_caller: {
      type: 'string',
      default: '',
      check: (text) => parseScopes(text, scopes),
      summary: `comma-separated scopes for which caller information is included; scopes: ${known}`,
    },
    log_output_level: {
      type: 'string',
      default: 'default:info',
      check: levels,
      summary: `minimum level of output, as <scope>:<level>,...; levels: debug, info, warn, error, none; scopes: ${known}`,
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
      check: levels,
      summary: 'minimum level at which stack traces are captured, as <scope>:<level>,...; levels as above',
    },
    log_target: {
      type: 'stringArray',
      default: ['stdout'],
      summary: 'output paths, repeatable; the special values stdout and stderr stand for the streams',
    },
  });
}

/** Those of a component whose only scope is `default`. */
export const loggingFlags = loggingFlagsFor([DEFAULT_SCOPE]);

export type LoggingFlags = typeof loggingFlags;
