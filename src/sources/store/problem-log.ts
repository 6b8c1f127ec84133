/** Says in the log what keeps a store from being followed: manifests that are wrong, or an API server that is away. */
import type { Logger } from '../../io/log/logger.ts';
import { formatProblem, type Problem } from '../../lib/errors.ts';

/**
 * To be given every problem that there is, whenever that changes. What was said is not said again until it has been mended; and an API server that is
 * away is one thing, however many kinds of objects are asked of it.
 */
export function createStoreProblemLog(logger: Logger): (problems: readonly Problem[]) => void {
  let saidOfManifests: ReadonlySet<string> = new Set();
  /** Why the API server cannot be followed, since it last could. */
  const saidOfServer = new Set<string>();

  function ofManifests(problems: readonly Problem[]): void {
    const texts = new Set(problems.map(formatProblem));
    for (const problem of texts) {
      if (!saidOfManifests.has(problem)) logger.warn('manifest refused; its last good content stays in force', { problem });
    }
    saidOfManifests = texts;
  }

  function ofServer(problems: readonly Problem[]): void {
    if (problems.length === 0 && saidOfServer.size > 0) {
      saidOfServer.clear();
      logger.info('the API server is followed again');
    }
    for (const { path, message } of problems) {
      const reason = reasonOf(message);
      if (saidOfServer.has(reason)) continue;
      saidOfServer.add(reason);
      logger.warn('the API server cannot be followed; what was read last stays in force', { kind: path, problem: message });
    }
  }

  return (problems) => {
    ofManifests(problems.filter(({ file }) => file !== undefined));
    ofServer(problems.filter(({ file }) => file === undefined));
  };
}

/** `cannot list services: connect ECONNREFUSED ...` and the same of pods have one reason. */
const reasonOf = (message: string): string => message.replace(/^cannot (list|watch) [^:]*: /, '');
