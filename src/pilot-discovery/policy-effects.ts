/** Which services and which proxies a policy decides about. Pure. */

import type { AuthnPolicy } from '../model/authn-policy.ts';
import { describeService, type Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { isLabelled } from '../policy/claims.ts';
import { describePolicy } from '../policy/describe.ts';
import { resolveAuthn } from '../policy/resolve.ts';

/** Policies by their names, `Kind namespace/name`. */
export interface PolicyEffects {
  /** `httpbin.foo`, sorted; a policy that decides about none is missing. */
  readonly services: ReadonlyMap<string, readonly string[]>;
  /** By host name of the service. */
  readonly policies: ReadonlyMap<string, readonly string[]>;
}

const known = new WeakMap<Snapshot, PolicyEffects>();

/** Remembered with the snapshot: it takes a look at every port of the mesh. */
export function policyEffects(snapshot: Snapshot): PolicyEffects {
  const effects = known.get(snapshot) ?? findEffects(snapshot);
  known.set(snapshot, effects);
  return effects;
}

function findEffects(snapshot: Snapshot): PolicyEffects {
  const services = new Map<string, string[]>();
  const policies = new Map<string, readonly string[]>();
  for (const service of snapshot.services) {
    const names = [...new Set(decidersOf(snapshot, service).map(describePolicy))];
    if (names.length > 0) policies.set(service.hostname, names);
    for (const name of names) services.set(name, [...(services.get(name) ?? []), describeService(service)]);
  }
  for (const names of services.values()) names.sort();
  return { services, policies };
}

/** The policies in force on any port, for some of the workloads at least. */
function decidersOf(snapshot: Snapshot, service: Service): readonly AuthnPolicy[] {
  const inForce = service.ports.flatMap((port) => {
    const { decidedBy } = resolveAuthn(snapshot, service, port, undefined);
    return decidedBy.type === 'policy' ? [decidedBy.policy] : [];
  });
  const ofSome = (snapshot.policies.namespaces.get(service.namespace) ?? []).filter(({ targets }) =>
    targets.some((target) => target.name === service.name && isLabelled(target)),
  );
  return [...inForce, ...ofSome];
}
