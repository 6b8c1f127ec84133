import { describeObject, type KubeObject } from '../../model/object.ts';
import { compileConfiguration } from './compile.ts';
import type { ObjectProblem } from './configuration.ts';

/** What those who store objects of mixs' configuration should know before they do. */
export interface RuleReview {
  /** Reasons not to store them. */
  readonly refused: readonly ObjectProblem[];
  /** What they name is not there yet; until it is, they are not in force. */
  readonly dangling: readonly ObjectProblem[];
}

/** Checks objects that are to be written as parts of the whole that they will be: `stored` is what is there, of all kinds of ruleKinds. */
export function reviewRules(stored: readonly KubeObject[], written: readonly KubeObject[]): RuleReview {
  const replaced = new Set(written.map(describeObject));
  const others = stored.filter((object) => !replaced.has(describeObject(object)));
  const isWritten = new Set(written);
  const problems = compileConfiguration([...others, ...written]).problems.filter(({ object }) => isWritten.has(object));
  const dangling = problems.filter((problem) => problem.dangling === true);
  return { refused: problems.filter((problem) => problem.dangling !== true), dangling };
}
