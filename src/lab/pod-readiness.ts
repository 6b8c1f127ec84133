import type { KubeObject } from '../model/object.ts';
import { replicasOf, TEMPLATE_HASH_LABEL, templateHashOf } from './controllers/deployment-plan.ts';
import { isOver, isOwnedBy, type PodView } from './controllers/pod-view.ts';
import { REFUSED } from './controllers/refusal.ts';
import { Fields } from './kubelet/fields.ts';

/** What deployments and pods still wait for, one line each; empty when all are ready. */
export function blockers(deployments: readonly KubeObject[], pods: readonly PodView[]): readonly string[] {
  const lacking = deployments.flatMap((deployment) => {
    const hash = templateHashOf(deployment);
    const owned = pods.filter(({ object }) => isOwnedBy(object, deployment));
    const current = owned.filter(({ labels }) => labels[TEMPLATE_HASH_LABEL] === hash);
    const wanted = replicasOf(deployment);
    if (current.length === wanted && owned.length === wanted) return [];
    const { namespace, name } = deployment.metadata;
    const refusal = refusalOf(deployment);
    const has = `has ${current.length} of ${wanted} pods, and ${owned.length - current.length} old ones`;
    return [`deployment ${namespace}/${name}: ${has}${refusal === undefined ? '' : `: ${refusal}`}`];
  });
  return [...lacking, ...pods.filter((pod) => !pod.ready && !isOver(pod)).map(blockerOf)];
}

/** Why the pods of a deployment are not admitted. */
export function refusalOf(deployment: KubeObject): string | undefined {
  const conditions = new Fields(deployment['status'], 'status', []).list('conditions');
  return conditions.find((condition) => condition.string('reason') === REFUSED)?.string('message');
}

/** One line: the pod, and what it waits for. */
export function blockerOf(pod: PodView): string {
  return `pod ${pod.namespace}/${pod.name}: ${whyNotReady(pod.object) ?? 'not started yet'}`;
}

/** What the pod's containers, or else its conditions, say about why it is not ready. */
export function whyNotReady(pod: KubeObject): string | undefined {
  const status = new Fields(pod['status'], 'status', []);
  const condition = status
    .list('conditions')
    .find((each) => each.string('type') === 'Ready' && each.string('status') === 'False');
  const blocked = status
    .list('conditions')
    .find((each) => each.string('type') === 'Initialized' && each.string('message') !== undefined);
  const containers = [...status.list('initContainerStatuses'), ...status.list('containerStatuses')];
  const waiting = containers.flatMap((container) => {
    const state = container.object('state').optionalObject('waiting');
    const message = state?.string('message');
    return message === undefined ? [] : [`${container.string('name')}: ${state?.string('reason')}: ${message}`];
  });
  return blocked?.string('message') ?? waiting[0] ?? condition?.string('message');
}
