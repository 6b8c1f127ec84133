import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { sameElements } from '../model/identity.ts';
import { policiesOf } from '../model/policy-index.ts';
import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { type Workload, workloadKey } from '../model/workload.ts';
import { resolveWorkload, servicesByPort, type WorkloadAuthn } from '../policy/workload-ports.ts';
import type { Encoder } from './encoder.ts';
import { buildInboundListener } from './inbound-listener.ts';
import { type Destinations, usesMixs } from './mixs.ts';
import type { Families } from './node.ts';
import type { EncodedResource } from './resource.ts';

interface Resolution {
  readonly authn: WorkloadAuthn;
  /** Only where mixs is to know, so that workloads which differ in nothing else share a listener. */
  readonly destinations: Destinations | undefined;
}

interface Resolved extends Resolution {
  /** Identities of all that the resolution looked at. */
  readonly from: readonly unknown[];
  readonly byFamilies: Map<Families, EncodedResource>;
}

const NO_SERVICES: readonly Service[] = [];

/**
 * The listener for requests that reach a workload, built from what its ports require. Workloads that require the same, such
 * as the pods of one deployment, share one.
 */
export function createInboundListenerStage(
  encoder: Encoder,
): (snapshot: Snapshot, workload: Workload | undefined, families: Families) => EncodedResource {
  const resolved = new WeakMap<Workload, Resolved>();
  const contents = createContentCache();

  const build = (snapshot: Snapshot, resolvedAs: Resolution | undefined, families: Families, before?: EncodedResource) => {
    const { authn, destinations } = resolvedAs ?? {};
    const tokens = authn !== undefined && [...authn.ports, authn.unnamed].some(({ origins }) => origins.length > 0);
    const key = JSON.stringify([families, authn, destinations?.namespace, [...(destinations?.byPort ?? [])]]);
    return contents.get(snapshot, key, tokens, () => {
      const listener = buildInboundListener(snapshot.mesh, { authn, families, destinations }, snapshot.jwks);
      return encoder.resource(listener.name, Listener.encode(listener).finish(), before);
    });
  };

  return (snapshot, workload, families) => {
    if (workload === undefined) return build(snapshot, undefined, families);
    const cached = resolved.get(workload);
    const from = dependencies(snapshot, workload);
    const same = cached !== undefined && sameElements(cached.from, from);
    const entry = same ? cached : { from, ...resolve(snapshot, workload), byFamilies: new Map() };
    const known = entry.byFamilies.get(families);
    if (known !== undefined) return known;
    const resource = build(snapshot, entry, families, cached?.byFamilies.get(families));
    entry.byFamilies.set(families, resource);
    resolved.set(workload, entry);
    return resource;
  };
}

function resolve(snapshot: Snapshot, workload: Workload): Resolution {
  const { namespace } = workload;
  const destinations = usesMixs(snapshot.mesh) ? { namespace, byPort: servicesByPort(snapshot, workload) } : undefined;
  return { authn: resolveWorkload(snapshot, workload), destinations };
}

function dependencies(snapshot: Snapshot, workload: Workload): readonly unknown[] {
  const services = snapshot.servicesByWorkload.get(workloadKey(workload)) ?? NO_SERVICES;
  // A service without a selector sends traffic to the ports that its endpoint slices name.
  const endpoints = services
    .filter((service) => service.selector === undefined)
    .map(({ hostname }) => snapshot.endpoints.get(hostname));
  const policies = policiesOf(snapshot.policies, workload.namespace);
  return [snapshot.mesh, snapshot.jwks, snapshot.policies.mesh, policies, services, ...endpoints];
}

/** Listeners by what they are made from; forgets what neither this snapshot nor the one before asked for. */
function createContentCache() {
  let snapshotSeen: Snapshot | undefined;
  let older = new Map<string, Content>();
  let newer = new Map<string, Content>();
  return {
    get(snapshot: Snapshot, key: string, usesKeys: boolean, build: () => EncodedResource): EncodedResource {
      if (snapshot !== snapshotSeen) [older, newer, snapshotSeen] = [newer, new Map(), snapshot];
      const known = newer.get(key) ?? older.get(key);
      const valid = known?.mesh === snapshot.mesh && (!usesKeys || known.jwks === snapshot.jwks);
      const resource = known !== undefined && valid ? known.resource : build();
      newer.set(key, { mesh: snapshot.mesh, jwks: snapshot.jwks, resource });
      return resource;
    },
  };
}

interface Content {
  readonly mesh: Snapshot['mesh'];
  readonly jwks: Snapshot['jwks'];
  readonly resource: EncodedResource;
}
