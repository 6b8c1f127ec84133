import type { MeshConfig } from '../model/mesh-config.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Encoder } from './encoder.ts';
import type { OutboundPlan } from './outbound-plan.ts';
import type { EncodedResource, ResourceSet } from './resource.ts';

/** The sets handed out for one plan, by namespace; the empty one stands for all without HTTP services. */
interface Answers {
  readonly plan: OutboundPlan;
  readonly mesh: MeshConfig;
  readonly byNamespace: Map<string, ResourceSet>;
}

export interface NamespaceContent {
  /** The resources for proxies of a namespace; `''` for those of any namespace without HTTP services. */
  readonly resources: (snapshot: Snapshot, plan: OutboundPlan, namespace: string) => readonly EncodedResource[];
  /** Forgets what was kept for ports and namespaces that are gone. */
  readonly prune: (plan: OutboundPlan) => void;
}

/**
 * Sets by the namespace of the proxy that asks. They differ only in short names, so all namespaces without HTTP services share
 * one. A set is made when it is first asked for.
 */
export function createNamespaceSets(
  encoder: Encoder,
  { resources, prune }: NamespaceContent,
): (snapshot: Snapshot, plan: OutboundPlan, namespace: string) => ResourceSet {
  const sets = new Map<string, ResourceSet>();
  let answers: Answers | undefined;

  return (snapshot, plan, namespace) => {
    if (answers?.plan !== plan || answers.mesh !== snapshot.mesh) {
      answers = { plan, mesh: snapshot.mesh, byNamespace: new Map() };
      for (const known of sets.keys()) if (known !== '' && !plan.httpNamespaces.has(known)) sets.delete(known);
      prune(plan);
    }
    const scope = plan.httpNamespaces.has(namespace) ? namespace : '';
    const known = answers.byNamespace.get(scope);
    if (known !== undefined) return known;
    const built = encoder.set(resources(snapshot, plan, scope), sets.get(scope));
    sets.set(scope, built);
    answers.byNamespace.set(scope, built);
    return built;
  };
}
