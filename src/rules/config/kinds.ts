import type { Names } from '../../lib/names.ts';
import { type Kinds, kindsFor } from '../../model/kinds.ts';
import type { ResourceKind } from '../../model/object.ts';
import { ADAPTERS } from '../adapter/adapters.ts';
import { TEMPLATES } from '../template/templates.ts';

/** The kinds that are no adapter's and no template's own. */
export const CORE_PARTS = [
  'attributemanifest',
  'handler',
  'instance',
  'rule',
  'QuotaSpec',
  'QuotaSpecBinding',
  'ServiceRole',
  'ServiceRoleBinding',
] as const;
export type CorePart = (typeof CORE_PARTS)[number];

/** What a kind of configuration is for. */
export type RuleKind = { readonly resource: ResourceKind } & (
  | { readonly part: 'core'; readonly name: CorePart }
  | { readonly part: 'adapter'; readonly name: string }
  | { readonly part: 'template'; readonly name: string }
);

/** Kinds of the group `rbac.<domain>/v1alpha1`, where users have them. */
const ROLES: readonly string[] = ['ServiceRole', 'ServiceRoleBinding'];

/** Every kind of configuration that mixs reads: of group `config.<domain>/v1alpha2`, and roles of `rbac.<domain>/v1alpha1`. */
export function ruleKinds(domain: string): readonly RuleKind[] {
  const resource = (kind: string): ResourceKind => ({
    apiVersion: ROLES.includes(kind) ? `rbac.${domain}/v1alpha1` : `config.${domain}/v1alpha2`,
    kind,
    plural: pluralOf(kind.toLowerCase()),
    namespaced: true,
  });
  return [
    ...CORE_PARTS.map((name) => ({ part: 'core' as const, name, resource: resource(name) })),
    ...[...ADAPTERS.keys()].map((name) => ({ part: 'adapter' as const, name, resource: resource(name) })),
    ...Object.keys(TEMPLATES).map((name) => ({ part: 'template' as const, name, resource: resource(name) })),
  ];
}

/** Every kind of object that there is in a mesh: what discovery reads, and what mixs reads. */
export function allKinds(names: Names): Kinds {
  const rules = ruleKinds(names.domain).map(({ resource }): [string, ResourceKind] => [`rules ${resource.kind}`, resource]);
  return { ...kindsFor(names), ...Object.fromEntries(rules) };
}

/** As the peers' tools make plurals, whose definitions users have: `apikeies`. */
export function pluralOf(name: string): string {
  if (name.endsWith('y')) return `${name.slice(0, -1)}ies`;
  return name.endsWith('s') ? `${name}es` : `${name}s`;
}
