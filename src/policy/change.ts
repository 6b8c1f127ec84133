/** What a policy that is about to be stored would do to the others. */
import type { AuthnPolicy } from '../model/authn-policy.ts';
import { type PolicyConflict, type PortLookup, policyConflicts } from './conflicts.ts';
import { describePolicy } from './describe.ts';

export interface PolicyChange {
  /** As it would be stored; without a creation time if it is new. */
  readonly policy: AuthnPolicy;
  /** As it is stored; undefined: it is new, or is no policy as it is stored. */
  readonly before: AuthnPolicy | undefined;
  /** What is stored; its own older self may be among them. */
  readonly stored: readonly AuthnPolicy[];
}

/**
 * The conflicts that the change brings. Those that were there before are not its doing: a policy that is part of one can still be
 * changed in other ways.
 */
export function newConflicts({ policy, before, stored }: PolicyChange, portNumber: PortLookup): readonly PolicyConflict[] {
  const self = describePolicy(policy);
  const others = stored.filter((other) => isNear(other, policy) && describePolicy(other) !== self);
  const conflictsWith = (own: AuthnPolicy): readonly PolicyConflict[] =>
    policyConflicts([...others, own], portNumber).filter(({ winner, loser }) => winner === own || loser === own);
  const known = new Set(before === undefined ? [] : conflictsWith(before).map(({ message }) => message));
  return conflictsWith(policy).filter(({ message }) => !known.has(message));
}

/** Policies of different namespaces never meet. */
function isNear(a: AuthnPolicy, b: AuthnPolicy): boolean {
  return a.scope === b.scope && a.namespace === b.namespace;
}
