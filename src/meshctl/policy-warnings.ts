import type { Names } from '../lib/names.ts';
import { describeObject } from '../model/object.ts';
import type { Manifest } from '../model/parse/manifests.ts';
import { policyWarnings } from '../model/parse/policy.ts';
import { describePolicy } from '../policy/describe.ts';
import { policyProblems } from '../policy/problems.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { snapshotOf } from './store-snapshot.ts';

/** What the authors of policies that were just stored should know: conflicts with older ones, targets that match nothing, and the like. */
export async function policyWarningsFor(
  written: readonly Manifest[],
  store: ObjectStore,
  names: Names,
): Promise<readonly string[]> {
  const policies = new Set(
    written.filter(({ kind }) => kind.apiVersion === names.authentication.apiVersion).map(({ object }) => describeObject(object)),
  );
  if (policies.size === 0) return [];
  const snapshot = await snapshotOf(store, { names, domain: 'cluster.local', onProblem: () => {} });
  const stored = snapshot.inputs.policies.filter((policy) => policies.has(describePolicy(policy)));
  const problems = policyProblems(snapshot).filter(({ policy }) => policies.has(describePolicy(policy)));
  return [
    ...stored.flatMap((policy) =>
      policyWarnings(policy).map(({ path, message }) => `${describePolicy(policy)}: ${path}: ${message}`),
    ),
    ...problems.map(({ message }) => message),
  ];
}
