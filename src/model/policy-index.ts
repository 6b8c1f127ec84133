import type { AuthnPolicy } from './authn-policy.ts';
import { compareText, groupKept } from './identity.ts';

/** The policies by where they apply; in each list the one in force comes before those it conflicts with. */
export interface PolicyIndex {
  readonly mesh: readonly AuthnPolicy[];
  readonly namespaces: ReadonlyMap<string, readonly AuthnPolicy[]>;
}

const NO_POLICIES: readonly AuthnPolicy[] = [];

/** Of two policies that say different things about the same, the older one is in force; names break a tie. */
export function comparePrecedence(a: AuthnPolicy, b: AuthnPolicy): number {
  return compareAge(a.creationTimestamp, b.creationTimestamp) || compareText(a.name, b.name);
}

/** A policy without a creation time was not stored yet, so it is the youngest. */
function compareAge(a: string, b: string): number {
  if (a === b) return 0;
  if (a === '' || b === '') return a === '' ? 1 : -1;
  const difference = Date.parse(a) - Date.parse(b);
  return Number.isNaN(difference) ? compareText(a, b) : difference;
}

export function indexPolicies(policies: readonly AuthnPolicy[], previous: PolicyIndex | undefined): PolicyIndex {
  const ordered = [...policies].sort(comparePrecedence);
  const ofNamespaces = ordered.filter((policy) => policy.scope === 'namespace');
  const namespaces = groupKept(ofNamespaces, (policy) => policy.namespace, previous?.namespaces);
  const byScope = groupKept(
    ordered.filter((policy) => policy.scope === 'mesh'),
    () => 'mesh',
    previous === undefined ? undefined : new Map([['mesh', previous.mesh]]),
  );
  const mesh = byScope.get('mesh') ?? NO_POLICIES;
  return previous !== undefined && previous.mesh === mesh && previous.namespaces === namespaces ? previous : { mesh, namespaces };
}

/** The policies of one namespace, in order of precedence. */
export function policiesOf(index: PolicyIndex, namespace: string): readonly AuthnPolicy[] {
  return index.namespaces.get(namespace) ?? NO_POLICIES;
}
