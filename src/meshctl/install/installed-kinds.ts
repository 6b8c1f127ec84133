/** The kinds that an installation is made of, in the order in which they can be created. */
import type { KubeObject, ResourceKind } from '../../model/object.ts';

const RBAC = 'rbac.authorization.k8s.io/v1';
const ADMISSION = 'admissionregistration.k8s.io/v1';

export const CRD: ResourceKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
export const NAMESPACE: ResourceKind = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };
export const CONFIG_MAP: ResourceKind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
export const DEPLOYMENT: ResourceKind = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments', namespaced: true };

/** What is in one stage needs what is in the stages before it; webhooks come when all that answers them is there. */
export const STAGES: readonly (readonly ResourceKind[])[] = [
  [NAMESPACE],
  [CRD],
  [
    { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true },
    { apiVersion: RBAC, kind: 'ClusterRole', plural: 'clusterroles', namespaced: false },
    { apiVersion: RBAC, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', namespaced: false },
    { apiVersion: RBAC, kind: 'Role', plural: 'roles', namespaced: true },
    { apiVersion: RBAC, kind: 'RoleBinding', plural: 'rolebindings', namespaced: true },
  ],
  [CONFIG_MAP],
  [
    { apiVersion: 'v1', kind: 'Service', plural: 'services', namespaced: true },
    { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', plural: 'poddisruptionbudgets', namespaced: true },
  ],
  [DEPLOYMENT],
  [
    {
      apiVersion: ADMISSION,
      kind: 'MutatingWebhookConfiguration',
      plural: 'mutatingwebhookconfigurations',
      namespaced: false,
    },
    {
      apiVersion: ADMISSION,
      kind: 'ValidatingWebhookConfiguration',
      plural: 'validatingwebhookconfigurations',
      namespaced: false,
    },
  ],
];

const KINDS = STAGES.flat();

/** Throws for a kind that no installation has: a defect of the manifests. */
export function installedKind({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): ResourceKind {
  const found = KINDS.find((known) => known.kind === kind && known.apiVersion === apiVersion);
  if (found === undefined) throw new Error(`no stage of the installation has ${kind} of ${apiVersion}`);
  return found;
}

/** Objects in the order of their stages; within one as they were. */
export function inStages(objects: readonly KubeObject[]): readonly (readonly KubeObject[])[] {
  return STAGES.map((kinds) => objects.filter((object) => kinds.includes(installedKind(object)))).filter(
    (stage) => stage.length > 0,
  );
}
