import type { Logger } from '../io/log/logger.ts';
import { formatProblem } from '../lib/errors.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { mixsProblems } from '../xds/mixs-problems.ts';

/** To be given every snapshot that is published; says once what of mixs cannot be reached, and when it can again. */
export function createMixsProblemLog(logger: Logger): (snapshot: Snapshot | undefined) => void {
  let said: ReadonlySet<string> = new Set();
  return (snapshot) => {
    const problems = new Set(snapshot === undefined ? [] : mixsProblems(snapshot).map(formatProblem));
    for (const problem of problems) {
      if (!said.has(problem)) logger.warn('the mesh configuration names a mixs that nobody can reach', { problem });
    }
    if (problems.size === 0 && said.size > 0) logger.info('sidecars can reach the mixs that the mesh configuration names');
    said = problems;
  };
}
