import type { KubeObject } from '../../model/object.ts';
import { Fields, isRecord } from '../kubelet/fields.ts';
import { podName, templateHash } from './pod-name.ts';
import { isOver, type PodView, stringMapOf } from './pod-view.ts';
import { replicaFailure } from './refusal.ts';

export const TEMPLATE_HASH_LABEL = 'pod-template-hash';

export interface DeploymentPlan {
  readonly create: number;
  readonly remove: readonly PodView[];
}

export function replicasOf(deployment: KubeObject): number {
  return Math.max(0, new Fields(deployment['spec'], 'spec', []).integer('replicas') ?? 1);
}

export function templateHashOf(deployment: KubeObject): string {
  return templateHash(templateOf(deployment));
}

/**
 * What brings the pods of a deployment to its number and template. All new pods are made at once; an old one goes only
 * when a new one is ready in its place, so that the number of ready pods does not fall.
 */
export function planDeployment(replicas: number, hash: string, pods: readonly PodView[]): DeploymentPlan {
  const over = pods.filter(isOver);
  const alive = pods.filter((pod) => !isOver(pod));
  const current = alive.filter(({ labels }) => labels[TEMPLATE_HASH_LABEL] === hash).toSorted(worthKeeping);
  const old = alive.filter(({ labels }) => labels[TEMPLATE_HASH_LABEL] !== hash).toSorted(worthKeeping);
  const stillNeeded = Math.max(0, replicas - current.filter(({ ready }) => ready).length);
  return {
    create: Math.max(0, replicas - current.length),
    remove: [...over, ...current.slice(replicas), ...old.slice(stillNeeded)],
  };
}

/** Ready pods first, then older ones. */
function worthKeeping(a: PodView, b: PodView): number {
  const made = ({ object }: PodView): string => object.metadata.creationTimestamp ?? '';
  return Number(b.ready) - Number(a.ready) || compare(made(a), made(b)) || compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A new Pod of a deployment, as its template says. */
export function podOf(deployment: KubeObject, hash: string, random: () => number): KubeObject {
  const { name, namespace = 'default', uid = '' } = deployment.metadata;
  const template = templateOf(deployment);
  const metadata = isRecord(template['metadata']) ? template['metadata'] : {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(name, hash, random),
      namespace,
      labels: { ...stringMapOf(metadata['labels']), [TEMPLATE_HASH_LABEL]: hash },
      annotations: stringMapOf(metadata['annotations']),
      ownerReferences: [{ apiVersion: deployment.apiVersion, kind: deployment.kind, name, uid, controller: true }],
    },
    spec: template['spec'],
  };
}

/** The `status` of the deployment; `refusal` says why its pods are not admitted, if they are not. */
export function deploymentStatus(
  deployment: KubeObject,
  hash: string,
  pods: readonly PodView[],
  refusal: string | undefined,
): Record<string, unknown> {
  const replicas = replicasOf(deployment);
  const ready = pods.filter((pod) => pod.ready).length;
  const updated = pods.filter(({ labels }) => labels[TEMPLATE_HASH_LABEL] === hash).length;
  const available = ready >= replicas;
  return {
    replicas: pods.length,
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: Math.max(0, replicas - ready),
    conditions: [
      {
        type: 'Available',
        status: available ? 'True' : 'False',
        reason: available ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
      },
      ...(refusal === undefined ? [] : [replicaFailure(refusal)]),
    ],
  };
}

function templateOf(deployment: KubeObject): Readonly<Record<string, unknown>> {
  const spec = deployment['spec'];
  const template = isRecord(spec) ? spec['template'] : undefined;
  return isRecord(template) ? template : {};
}
