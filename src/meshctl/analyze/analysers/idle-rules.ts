import type { KubeObject } from '../../../model/object.ts';
import { isNamed } from '../../../rules/adapter/quota-limits.ts';
import { idOfObject, namespaceOf, recordOf } from '../../../rules/config/attempt.ts';
import { handlerId, instanceId } from '../../../rules/config/compile-rule.ts';
import { parseRule } from '../../../rules/config/parse-rule.ts';
import { idOf } from '../../../rules/config/reference.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { rulePartOf } from '../rule-set.ts';

/** MESH803, MESH804, MESH805: parts of mixs' configuration that nothing leads to. Of an incomplete configuration nobody could say. */
export function idleRules(state: MeshState): readonly Finding[] {
  if (!state.rules.isWhole) return [];
  return [...unsent(state), ...unbound(state), ...uncharged(state)];
}

/** Handlers and instances that no rule names; a rule that cannot be read may name any. */
function unsent({ rules: { objects } }: MeshState): readonly Finding[] {
  const named = new Set<string>();
  for (const rule of objects.filter(({ kind }) => kind === 'rule')) {
    const parsed = parseRule(rule['spec']);
    if (!parsed.ok) return [];
    for (const { handler, instances } of parsed.value.actions) {
      named.add(handlerId(handler, rule));
      for (const instance of instances) named.add(instanceId(instance, rule));
    }
  }
  return objects.flatMap((object): readonly Finding[] => {
    const part = rulePartOf(object.kind);
    if ((part !== 'handler' && part !== 'instance') || named.has(idOfObject(object))) return [];
    const message = part === 'handler' ? 'no rule sends anything to it' : 'no rule sends it to a handler';
    return [{ code: 'MESH803', subject: subjectOf(object), message }];
  });
}

/** Roles and charges without a binding; a binding that is wrong binds all the same, once it is corrected. */
function unbound({ rules: { objects } }: MeshState): readonly Finding[] {
  const bound = new Set(objects.flatMap(boundIds));
  return objects.flatMap((object): readonly Finding[] => {
    const { kind } = object;
    if ((kind !== 'ServiceRole' && kind !== 'QuotaSpec') || bound.has(idOfObject(object))) return [];
    const message = `no ${kind}Binding names it, so that it ${kind === 'QuotaSpec' ? 'charges' : 'allows'} nobody anything`;
    const action = `name it in a ${kind}Binding, or delete it`;
    return [{ code: 'MESH804', subject: subjectOf(object), message, action }];
  });
}

/** Ids of what a binding names. */
function boundIds(binding: KubeObject): readonly string[] {
  const spec = recordOf(binding['spec']);
  if (binding.kind === 'ServiceRoleBinding') {
    return [idOf(String(recordOf(spec['roleRef'])['name']), 'ServiceRole', namespaceOf(binding))];
  }
  if (binding.kind !== 'QuotaSpecBinding' || !Array.isArray(spec['quotaSpecs'])) return [];
  return spec['quotaSpecs'].map(recordOf).map(({ name, namespace }) => {
    const where = typeof namespace === 'string' ? namespace : namespaceOf(binding);
    return idOf(String(name), 'QuotaSpec', where);
  });
}

/** Quotas that are counted, but of which no QuotaSpec takes anything; one that is wrong may be meant to. */
function uncharged({ rules: { objects }, mixs }: MeshState): readonly Finding[] {
  if (mixs.problems.some(({ object }) => object.kind === 'QuotaSpec')) return [];
  const charged = [...mixs.quotaSpecs.values()].flatMap(({ rules }) => rules.flatMap(({ charges }) => charges));
  const counted = [...mixs.rules.values()]
    .flatMap(({ actions }) => actions.flatMap(({ instances }) => instances))
    .filter(({ template, name }) => template === 'quota' && !charged.some(({ quota }) => isNamed(name, quota)))
    .map(({ name }) => name);
  const message = 'no QuotaSpec charges it: calls that sidecars let mixs check take nothing of it';
  return objects
    .filter((object) => counted.includes(idOfObject(object)))
    .map((object) => ({ code: 'MESH805', subject: subjectOf(object), message }));
}
