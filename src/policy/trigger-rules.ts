import type { JwtOrigin, StringMatch, TriggerRule } from '../model/authn-policy.ts';
import { pathPattern } from './path-pattern.ts';

/** A condition on the `:path` header; see `pathPattern`. */
export interface PathCondition {
  readonly matches: boolean;
  readonly pattern: string;
}

/** All of them must hold; none: always. */
export type PathConditions = readonly PathCondition[];

/** Origins of one policy that apply to the same paths, by their index in it, and the alternative conditions for that. */
export interface TriggerGroup {
  readonly origins: readonly number[];
  readonly alternatives: readonly PathConditions[];
}

/** More combinations than this are not written out: a request is refused rather than checked wrongly. */
export const MAX_COMBINATIONS = 256;

export function groupByTrigger(origins: readonly JwtOrigin[]): readonly TriggerGroup[] {
  const groups = new Map<string, { origins: number[]; alternatives: readonly PathConditions[] }>();
  for (const [index, { triggerRules }] of origins.entries()) {
    const key = JSON.stringify(triggerRules);
    const group = groups.get(key);
    if (group !== undefined) group.origins.push(index);
    else groups.set(key, { origins: [index], alternatives: alternativesOf(triggerRules) });
  }
  return [...groups.values()];
}

/** How many sets of conditions the groups can be combined to. */
export function combinationCount(groups: readonly TriggerGroup[]): number {
  return groups.reduce((product, group) => product * (1 + group.alternatives.length), 1);
}

/** Matches whose pattern cannot be used: their rule is applied without them, so that more requests need a token. */
export function unusableMatches(origins: readonly JwtOrigin[]): readonly StringMatch[] {
  const matches = origins.flatMap(({ triggerRules }) =>
    triggerRules.flatMap(({ includedPaths, excludedPaths }) => [...includedPaths, ...excludedPaths]),
  );
  return matches.filter((match) => pathPattern(match) === undefined);
}

/** A token is asked for if any rule matches; without rules, always. */
function alternativesOf(rules: readonly TriggerRule[]): readonly PathConditions[] {
  return rules.length === 0 ? [[]] : rules.map(conditionsOf);
}

function conditionsOf(rule: TriggerRule): PathConditions {
  const included = rule.includedPaths.map(pathPattern);
  const excluded = rule.excludedPaths.map(pathPattern).filter((pattern) => pattern !== undefined);
  // One path that cannot be told makes it every path.
  const limited = included.length > 0 && !included.includes(undefined);
  return [
    ...(limited ? [{ matches: true, pattern: included.join('|') }] : []),
    ...(excluded.length > 0 ? [{ matches: false, pattern: excluded.join('|') }] : []),
  ];
}
