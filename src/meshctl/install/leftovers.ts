/** What a control plane has made while it ran, and what else is in its namespace. */
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import type { Names } from '../../lib/names.ts';
import { groupOf, kindsFor } from '../../model/kinds.ts';
import { describeObject, type KubeObject, type ObjectRef, type ResourceKind } from '../../model/object.ts';
import { type ListOptions, listObjects } from '../../sources/store/kubernetes/list-objects.ts';
import { refOf } from '../../sources/store/stored-object.ts';
import { CONFIG_MAP, customKinds, DEPLOYMENT } from './installed-kinds.ts';
import { listServed } from './list-served.ts';
import { CA_ROOT_MAP, CA_SECRET } from './options.ts';

export interface ClusterScope {
  readonly client: KubernetesClient;
  readonly names: Names;
  /** Of the control plane. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Kubernetes' own: nobody deletes these. */
const SYSTEM_NAMESPACES: readonly string[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** Workloads and what holds data: a namespace with such objects that are not ours is not deleted. */
const INHABITANTS: readonly ResourceKind[] = [
  DEPLOYMENT,
  { apiVersion: 'apps/v1', kind: 'StatefulSet', plural: 'statefulsets', namespaced: true },
  { apiVersion: 'apps/v1', kind: 'DaemonSet', plural: 'daemonsets', namespaced: true },
  { apiVersion: 'batch/v1', kind: 'Job', plural: 'jobs', namespaced: true },
  { apiVersion: 'batch/v1', kind: 'CronJob', plural: 'cronjobs', namespaced: true },
  { apiVersion: 'v1', kind: 'Service', plural: 'services', namespaced: true },
  { apiVersion: 'v1', kind: 'PersistentVolumeClaim', plural: 'persistentvolumeclaims', namespaced: true },
];

/** The secret with the key of the certificate authority. */
export function authoritySecret({ names, namespace }: Pick<ClusterScope, 'names' | 'namespace'>): ObjectRef {
  return { kind: kindsFor(names).secret, namespace, name: CA_SECRET };
}

/** Keys, certificates and roots that mesh_ca has given to the service accounts and namespaces of the cluster. */
export async function issuedMaterial(scope: ClusterScope): Promise<readonly ObjectRef[]> {
  const { secret } = kindsFor(scope.names);
  const secrets = await refs(secret, { fieldSelector: `type=${scope.names.keyAndCertType}` }, scope);
  const roots = await refs(CONFIG_MAP, { fieldSelector: `metadata.name=${CA_ROOT_MAP}` }, scope);
  return [...secrets, ...roots];
}

/** What would be lost with the definitions of the kinds, beside what is of the installation itself. */
export async function objectsOf(definitions: readonly KubeObject[], scope: ClusterScope): Promise<number> {
  const { client, names, namespace, signal } = scope;
  const labelSelector = `${names.installationLabel}!=${namespace}`;
  const { meshPolicy } = kindsFor(names);
  const defined = new Set(definitions.map(({ metadata }) => metadata.name));
  const kinds = [meshPolicy, ...customKinds(names)].filter((kind) => defined.has(`${kind.plural}.${groupOf(kind)}`));
  const lists = await Promise.all(kinds.map((kind) => listServed(client, kind, { labelSelector, signal })));
  return lists.flat().length;
}

/** Why the namespace must not be deleted; undefined: nothing speaks against it. */
export async function reasonToKeepNamespace(scope: ClusterScope): Promise<string | undefined> {
  const { client, names, namespace, signal } = scope;
  if (SYSTEM_NAMESPACES.includes(namespace)) return 'it is one of Kubernetes itself';
  const labelSelector = `${names.installationLabel}!=${namespace}`;
  for (const kind of INHABITANTS) {
    const [first] = (await listObjects(client, kind, { namespace, labelSelector, signal })).objects;
    if (first !== undefined) return `${describeObject(first)} is in it, which is not of the mesh`;
  }
  return undefined;
}

async function refs(kind: ResourceKind, selector: ListOptions, { client, signal }: ClusterScope): Promise<readonly ObjectRef[]> {
  const { objects } = await listObjects(client, kind, { ...selector, signal });
  return objects.map((object) => refOf({ kind, object }));
}
