/** The kinds that an installation is made of, in the order in which they can be created. */
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../injection/decision.ts';
import { type Names, namesFor } from '../../lib/names.ts';
import { kindsFor } from '../../model/kinds.ts';
import type { KubeObject, ResourceKind } from '../../model/object.ts';
import { ruleKinds } from '../../rules/config/kinds.ts';
import { asFields } from '../../sources/store/kubernetes/received.ts';

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
const STAGES: readonly (readonly ResourceKind[])[] = [
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
const LAST = STAGES.length;

/** Resources of the mesh's own definitions: rules, and the policies that guard the control plane itself. */
export function customKinds(names: Names): readonly ResourceKind[] {
  return [kindsFor(names).policy, ...ruleKinds(names.domain).map(({ resource }) => resource)];
}

/** Every kind that an installation has objects of, those that need others behind these. */
export function installedKinds(names: Names): readonly ResourceKind[] {
  const [before, after] = [STAGES.slice(0, STAGE_OF_CUSTOM), STAGES.slice(STAGE_OF_CUSTOM)];
  return [...before.flat(), ...customKinds(names), ...after.flat()];
}

/** Configuration of all forms is there before what reads it. */
const STAGE_OF_CUSTOM = STAGES.findIndex((kinds) => kinds.includes(CONFIG_MAP));

/** Throws for a kind that no installation has: a defect of the manifests. */
export function installedKind(object: Pick<KubeObject, 'apiVersion' | 'kind'>): ResourceKind {
  const { apiVersion, kind } = object;
  const found = [...KINDS, ...customKindsOf(apiVersion)].find((known) => known.kind === kind && known.apiVersion === apiVersion);
  if (found === undefined) throw new Error(`no stage of the installation has ${kind} of ${apiVersion}`);
  return found;
}

/** Whether an object is of what mixs is told. */
export function isRule(object: KubeObject): boolean {
  return customKindsOf(object.apiVersion).some(({ apiVersion, kind }) => apiVersion === object.apiVersion && kind !== 'Policy');
}

/** Those of the domain that a group is of. */
function customKindsOf(apiVersion: string): readonly ResourceKind[] {
  const [, domain] = /^[^./]+\.([^/]+)\//.exec(apiVersion) ?? [];
  return domain === undefined ? [] : customKinds(namesFor(domain));
}

/** Whether the pods of an object are to get sidecars. */
export function isInjected(object: KubeObject): boolean {
  const template = asFields(asFields(object['spec'])['template']);
  return asFields(asFields(template['metadata'])['labels'])[NAMESPACE_LABEL] === NAMESPACE_LABEL_VALUE;
}

/** Objects in the order of their stages; within one as they were. What is to get a sidecar comes behind the webhook that adds it. */
export function inStages(objects: readonly KubeObject[]): readonly (readonly KubeObject[])[] {
  const staged = Map.groupBy(objects, stageOf);
  return [...staged].sort(([a], [b]) => a - b).map(([, stage]) => stage);
}

function stageOf(object: KubeObject): number {
  const kind = installedKind(object);
  if (kind === DEPLOYMENT && isInjected(object)) return LAST;
  const stage = STAGES.findIndex((kinds) => kinds.includes(kind));
  return stage === -1 ? STAGE_OF_CUSTOM : stage;
}
