import { formatProblem } from '../../../lib/errors.ts';
import type { ObjectProblem } from '../../../rules/config/configuration.ts';
import { isOfUnknownAttribute } from '../../../rules/expression/mistake.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { type RulePart, type RuleSet, rulePartOf } from '../rule-set.ts';

/** What decides whether what an object names is in force; of rules, all that rules are made of. */
const NAMED: Readonly<Record<RulePart, readonly RulePart[]>> = {
  attributemanifest: [],
  instance: [],
  handler: ['rule', 'handler', 'instance'],
  rule: ['rule', 'handler', 'instance'],
  QuotaSpec: ['rule', 'handler', 'instance'],
  QuotaSpecBinding: ['rule', 'handler', 'instance', 'QuotaSpec'],
  ServiceRole: [],
  ServiceRoleBinding: ['ServiceRole'],
};

/** MESH801, MESH802: what mixs refuses, or cannot put in force while what it names is not there. */
export function ruleProblems({ rules, mixs: { problems } }: MeshState): readonly Finding[] {
  return problems
    .filter((problem) => isSure(problem, rules, problems))
    .map((problem): Finding => {
      const { object, path, message, dangling } = problem;
      const code = dangling === true ? 'MESH802' : 'MESH801';
      return { code, subject: subjectOf(object), path, message: formatProblem({ path, message }) };
    });
}

/** Whether it would be found too if all objects of the mesh were known. */
function isSure({ object, message, dangling }: ObjectProblem, { unread }: RuleSet, problems: readonly ObjectProblem[]): boolean {
  const isOpen = unread.has('attributemanifest');
  if (dangling !== true) return !(isOpen && isOfUnknownAttribute(message));
  const part = rulePartOf(object.kind);
  if (part === undefined || NAMED[part].some((named) => unread.has(named))) return false;
  // An object that an unknown manifest may make good may be what others miss.
  return part === 'ServiceRoleBinding' || !(isOpen && problems.some((problem) => isOfUnknownAttribute(problem.message)));
}
