/** Files that belong together, followed: the last good content stays in force. */
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import { formatProblem, MeshError, type Parsed, type Problem } from '../../lib/errors.ts';
import type { Logger } from '../log/logger.ts';

/** Events get lost on some file systems, and so does one between the first reading and the watch; this is how late a change is seen then. */
const REREAD: Duration = seconds(10);
/** After the last event: whoever writes a file in place empties it first, and files that belong together come one by one. */
const SETTLE: Duration = milliseconds(20);

export interface FollowedFiles<T> {
  /** What the last good content says. The same value until the content changes. */
  value(): T;
  /** What is wrong with the content that is there now. */
  problems(): readonly Problem[];
}

export interface FollowOptions<T> {
  /** Absolute. */
  readonly paths: readonly string[];
  /** What the files are, for messages: `mesh configuration`. */
  readonly title: string;
  /** Of the texts in the order of `paths`. A problem names its file unless there is only one. */
  readonly parse: (texts: readonly string[]) => Parsed<T>;
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Follows files until the signal is aborted. Content that is bad at start is a MeshError `invalid` that names file and line; what turns
 * bad later, half of a swap included, is logged once and the last good content stays in force.
 */
export async function followFiles<T>(options: FollowOptions<T>): Promise<FollowedFiles<T>> {
  const { paths, title, logger, signal } = options;
  let texts = await readAll(options);
  let value = parseAll(texts, options);
  let problems: readonly Problem[] = [];

  async function reload(): Promise<void> {
    try {
      const fresh = await readAll(options);
      if (problems.length === 0 && fresh.every((text, index) => text === texts[index])) return;
      value = parseAll(fresh, options);
      texts = fresh;
      problems = [];
      options.onChange();
    } catch (error) {
      const { message } = MeshError.from(error);
      if (problems[0]?.message === message) return;
      problems = [{ path: '', message }];
      logger.error(`${title} refused; the last good one stays in force`, { files: paths.join(', '), problem: message });
    }
  }

  // One after the other: of two reads at once, the older content could come last.
  let reloads = Promise.resolve();
  const reloadNext = (): void => {
    reloads = reloads.then(() => (signal.aborted ? undefined : reload()));
  };
  const settling = setTimeout(reloadNext, SETTLE).unref();
  const timer = setInterval(reloadNext, REREAD).unref();
  const stop = (): void => {
    clearInterval(timer);
    clearTimeout(settling);
  };
  signal.addEventListener('abort', stop, { once: true });
  watchFolders(options, () => {
    if (!signal.aborted) settling.refresh();
  });
  return { value: () => value, problems: () => problems };
}

/** A mounted volume changes by a renamed link beside the file, so the folders are watched. */
function watchFolders({ paths, title, logger, signal }: FollowOptions<unknown>, onEvent: () => void): void {
  const names = new Set(paths.map((path) => basename(path)));
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    const watcher = watch(folder, { signal, persistent: false }, (_event, file) => {
      if (file === null || names.has(file) || file.startsWith('..')) onEvent();
    });
    watcher.on('error', (error) => logger.warn(`${title}: its folder is not watched any more`, { folder, error: error.message }));
  }
}

function readAll({ paths, title }: FollowOptions<unknown>): Promise<readonly string[]> {
  const read = async (path: string): Promise<string> => {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      throw new MeshError('invalid', `the ${title} file ${path} cannot be read: ${MeshError.from(error).message}`, error);
    }
  };
  return Promise.all(paths.map(read));
}

function parseAll<T>(texts: readonly string[], { paths, title, parse }: FollowOptions<T>): T {
  const parsed = parse(texts);
  if (parsed.ok) return parsed.value;
  const [only, ...others] = paths;
  const place = only !== undefined && others.length === 0 ? { file: only } : {};
  const problems = parsed.problems.map((problem) => formatProblem({ ...place, ...problem }));
  throw new MeshError('invalid', `the ${title} is invalid: ${problems.join('; ')}`);
}
