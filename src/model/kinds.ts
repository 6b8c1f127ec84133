import type { Names } from '../lib/names.ts';
import type { ResourceKind } from './object.ts';

/** Every kind the mesh reads or writes. */
export interface Kinds {
  readonly namespace: ResourceKind;
  readonly service: ResourceKind;
  readonly pod: ResourceKind;
  readonly node: ResourceKind;
  readonly configMap: ResourceKind;
  readonly secret: ResourceKind;
  readonly serviceAccount: ResourceKind;
  readonly endpointSlice: ResourceKind;
  readonly deployment: ResourceKind;
  readonly lease: ResourceKind;
  readonly mutatingWebhookConfiguration: ResourceKind;
  readonly validatingWebhookConfiguration: ResourceKind;
  readonly policy: ResourceKind;
  readonly meshPolicy: ResourceKind;
}

export function kindsFor(names: Names): Kinds {
  const authn = names.authentication.apiVersion;
  return {
    namespace: { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false },
    service: { apiVersion: 'v1', kind: 'Service', plural: 'services', namespaced: true },
    pod: { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
    node: { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false },
    configMap: { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
    secret: { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true },
    serviceAccount: { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
    endpointSlice: { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', plural: 'endpointslices', namespaced: true },
    deployment: { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
    mutatingWebhookConfiguration: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      plural: 'mutatingwebhookconfigurations',
      namespaced: false,
    },
    validatingWebhookConfiguration: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      plural: 'validatingwebhookconfigurations',
      namespaced: false,
    },
    lease: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases', namespaced: true },
    policy: { apiVersion: authn, kind: 'Policy', plural: 'policies', namespaced: true },
    meshPolicy: { apiVersion: authn, kind: 'MeshPolicy', plural: 'meshpolicies', namespaced: false },
  };
}

/** A kind by the names a manifest gives it, or `undefined`. */
export function findKind(kinds: Kinds, apiVersion: string, kind: string): ResourceKind | undefined {
  return Object.values<ResourceKind>({ ...kinds }).find((known) => known.kind === kind && known.apiVersion === apiVersion);
}

/**
 * Whether an apiVersion is of a group of mixs' configuration (`config.<domain>`, `rbac.<domain>`) and none of these kinds is: what another
 * component reads is nothing of ours, and nothing wrong.
 */
export function isForOthers(kinds: Kinds, apiVersion: string): boolean {
  const known = Object.values<ResourceKind>({ ...kinds });
  return ['config', 'rbac']
    .map((word) => groupOf(kinds.policy).replace(/^[^.]*/, word))
    .some((group) => apiVersion.startsWith(`${group}/`) && !known.some((kind) => groupOf(kind) === group));
}

/** The API group of a kind: `apps`, `authentication.mesh.io`; empty for the core group. */
export function groupOf(kind: ResourceKind): string {
  return kind.apiVersion.includes('/') ? kind.apiVersion.replace(/\/.*$/, '') : '';
}
