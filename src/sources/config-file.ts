/** A configuration file that is followed: its last good content stays in force. */
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Logger } from '../io/log/logger.ts';
import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import { formatProblem, MeshError, type Parsed, type Problem } from '../lib/errors.ts';

/** Events get lost on some file systems, and so does one between the first reading and the watch; this is how late a change is seen then. */
const REREAD: Duration = seconds(10);
/** After the last event: whoever writes a file in place empties it first. */
const SETTLE: Duration = milliseconds(20);

export interface ConfigFile<T> {
  /** What the last good content says. The same value until the content changes. */
  value(): T;
  /** What is wrong with the content that is there now. */
  problems(): readonly Problem[];
}

export interface ConfigFileOptions<T> {
  readonly path: string;
  /** What the file is, for messages: `mesh configuration`. */
  readonly title: string;
  readonly parse: (text: string) => Parsed<T>;
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Follows a file until the signal is aborted. A file that is bad at start is a MeshError `invalid` that names file and line; one that
 * turns bad later is logged and the last good content stays in force.
 */
export async function followConfigFile<T>(options: ConfigFileOptions<T>): Promise<ConfigFile<T>> {
  const { path, title, logger, signal } = options;
  let text = await read(options);
  let value = parse(text, options);
  let problems: readonly Problem[] = [];

  async function reload(): Promise<void> {
    try {
      const fresh = await read(options);
      if (fresh === text && problems.length === 0) return;
      value = parse(fresh, options);
      text = fresh;
      problems = [];
      options.onChange();
    } catch (error) {
      const { message } = MeshError.from(error);
      if (problems[0]?.message === message) return;
      problems = [{ path: '', file: path, message }];
      logger.error(`${title} refused; the last good one stays in force`, { file: path, problem: message });
    }
  }

  // One after the other: of two reads at once, the older content could come last.
  let reloads = Promise.resolve();
  const reloadNext = (): void => {
    reloads = reloads.then(() => (signal.aborted ? undefined : reload()));
  };
  const settling = setTimeout(reloadNext, SETTLE).unref();
  // A mounted ConfigMap changes by a renamed link beside the file, so the folder is watched.
  const watcher = watch(dirname(path), { signal, persistent: false }, (_event, file) => {
    if (file === null || file === basename(path) || file.startsWith('..')) settling.refresh();
  });
  watcher.on('error', (error) => logger.warn(`${title} file is not watched any more`, { file: path, error: error.message }));
  const timer = setInterval(reloadNext, REREAD).unref();
  const stop = (): void => {
    clearInterval(timer);
    clearTimeout(settling);
  };
  signal.addEventListener('abort', stop, { once: true });
  return { value: () => value, problems: () => problems };
}

async function read({ path, title }: ConfigFileOptions<unknown>): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new MeshError('invalid', `the ${title} file ${path} cannot be read: ${MeshError.from(error).message}`, error);
  }
}

function parse<T>(text: string, { path, title, parse }: ConfigFileOptions<T>): T {
  const parsed = parse(text);
  if (parsed.ok) return parsed.value;
  const problems = parsed.problems.map((problem) => formatProblem({ ...problem, file: path }));
  throw new MeshError('invalid', `the ${title} is invalid: ${problems.join('; ')}`);
}
