/** The objects of mixs' configuration, and what is not known of them. */
import { describeObject, type KubeObject } from '../../model/object.ts';
import { ADAPTERS } from '../../rules/adapter/adapters.ts';
import { CORE_PARTS, type CorePart } from '../../rules/config/kinds.ts';
import { isTemplateName } from '../../rules/template/templates.ts';

/** What an object is to mixs, whichever of several kinds it has: an adapter's own is a `handler`, a template's own an `instance`. */
export type RulePart = CorePart;

export interface RuleSet {
  readonly objects: readonly KubeObject[];
  /** Parts whose objects could not be read: that one of them is missing proves nothing. */
  readonly unread: ReadonlySet<RulePart>;
  /** Whether these are all objects of the mesh, so that what none of them names is named by nobody. */
  readonly isWhole: boolean;
}

export const NO_RULES: RuleSet = { objects: [], unread: new Set(), isWhole: true };

/** `undefined` for kinds that mixs does not read. */
export function rulePartOf(kind: string): RulePart | undefined {
  if (ADAPTERS.has(kind)) return 'handler';
  if (isTemplateName(kind)) return 'instance';
  return CORE_PARTS.find((part) => part === kind);
}

/** The set as it would be after the objects of files were applied. */
export function mergeRules(live: RuleSet, files: readonly KubeObject[]): RuleSet {
  const byName = new Map([...live.objects, ...files].map((object) => [describeObject(object), object]));
  return { ...live, objects: [...byName.values()] };
}

/** Files alone: of parts of which they have nothing, nothing is known. */
export function onlyFileRules(objects: readonly KubeObject[]): RuleSet {
  const present = new Set(objects.map(({ kind }) => rulePartOf(kind)));
  return { objects, unread: new Set(CORE_PARTS.filter((part) => !present.has(part))), isWhole: false };
}
