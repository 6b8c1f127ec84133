/** Files that belong together, followed: the last good content stays in force. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatProblem, MeshError, type Parsed, type Problem } from '../../lib/errors.ts';
import type { Logger } from '../log/logger.ts';
import { followChanges } from './file-changes.ts';
import { readTogether } from './read-together.ts';

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

interface Content<T> {
  readonly texts: readonly string[];
  readonly value: T;
}

/**
 * Follows files until the signal is aborted. Content that is bad at start is a MeshError `invalid` that names file and line; what turns
 * bad later, half of a swap included, is logged once and the last good content stays in force.
 */
export async function followFiles<T>(options: FollowOptions<T>): Promise<FollowedFiles<T>> {
  const first = await readContent(options);
  const followed = follow(options, first);
  return { value: () => (followed.content() ?? first).value, problems: followed.problems };
}

/**
 * The same of files that need not be there yet: the value is undefined until they all are, and good. Once there, they stay in force as with
 * `followFiles`.
 */
export function awaitFiles<T>(options: FollowOptions<T>): FollowedFiles<T | undefined> {
  const followed = follow(options, undefined);
  return { value: () => followed.content()?.value, problems: followed.problems };
}

function follow<T>(options: FollowOptions<T>, first: Content<T> | undefined) {
  const { paths, title, logger, signal } = options;
  let content = first;
  let problems: readonly Problem[] = [];

  const refused = (error: MeshError): boolean => {
    const { message } = error;
    if (problems[0]?.message === message) return false;
    problems = [{ path: '', message }];
    const what =
      content === undefined
        ? `${title} refused; still waiting for a good one`
        : `${title} refused; the last good one stays in force`;
    logger.error(what, { files: paths.join(', '), problem: message });
    return false;
  };

  const read = async (): Promise<boolean> => {
    try {
      const fresh = await readContent(options, content);
      problems = [];
      if (fresh === content || signal.aborted) return true;
      content = fresh;
      options.onChange();
      return true;
    } catch (thrown) {
      const error = MeshError.from(thrown);
      return content === undefined && isMissing(error) ? true : refused(error);
    }
  };

  void followChanges({ paths, read, sleep: (time, stop) => sleep(time, undefined, { signal: stop, ref: false }), signal });
  return { content: () => content, problems: () => problems };
}

/** Gives `held` itself when the texts are the same. Throws a MeshError that names the file. */
async function readContent<T>(options: FollowOptions<T>, held?: Content<T>): Promise<Content<T>> {
  const { paths, title } = options;
  const texts = await readTogether(paths, async (path) => {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      throw new MeshError('invalid', `the ${title} file ${path} cannot be read: ${MeshError.from(error).message}`, error);
    }
  });
  if (held !== undefined && texts.every((text, index) => text === held.texts[index])) return held;
  return { texts, value: parseAll(texts, options) };
}

/** Of files that nobody has put there yet there is nothing to say. */
function isMissing({ cause }: MeshError): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}

function parseAll<T>(texts: readonly string[], { paths, title, parse }: FollowOptions<T>): T {
  const parsed = parse(texts);
  if (parsed.ok) return parsed.value;
  const [only, ...others] = paths;
  const place = only !== undefined && others.length === 0 ? { file: only } : {};
  const problems = parsed.problems.map((problem) => formatProblem({ ...place, ...problem }));
  throw new MeshError('invalid', `the ${title} is invalid: ${problems.join('; ')}`);
}
