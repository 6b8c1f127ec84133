/** The authentication policies of a store: Policy of every namespace, and MeshPolicy. */
import type { Logger } from '../io/log/logger.ts';
import type { Problem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import type { AuthnPolicy } from '../model/authn-policy.ts';
import { kindsFor } from '../model/kinds.ts';
import { parseMeshPolicy } from '../model/parse/mesh-policy.ts';
import { parsePolicy } from '../model/parse/policy.ts';
import { followKind } from './collection.ts';
import type { ObjectStore } from './store/object-store.ts';

export interface PolicySource {
  values(): readonly AuthnPolicy[];
  problems(): readonly Problem[];
  readonly synced: Promise<void>;
}

export interface PolicySourceOptions {
  readonly store: ObjectStore;
  /** Only the policies of this namespace and the MeshPolicy; absent: all. */
  readonly namespace?: string;
  readonly names: Names;
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export function followPolicies(options: PolicySourceOptions): PolicySource {
  const { namespace, ...everywhere } = options;
  const kinds = kindsFor(options.names);
  const policies = followKind({ ...options, kind: kinds.policy, parse: (object) => parsePolicy(object, options.names) });
  const meshPolicies = followKind({
    ...everywhere,
    kind: kinds.meshPolicy,
    parse: (object) => parseMeshPolicy(object, options.names),
  });
  return {
    values: () => [...policies.values(), ...meshPolicies.values()],
    problems: () => [...policies.problems(), ...meshPolicies.problems()],
    synced: Promise.all([policies.synced, meshPolicies.synced]).then(() => undefined),
  };
}
