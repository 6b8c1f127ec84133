/** How objects say that a pod was not admitted: the webhook of a cluster would have refused to create it. */

/** Reason of the condition; deployments have it in `ReplicaFailure`, as in Kubernetes. */
export const REFUSED = 'FailedCreate';

/** The `status` of a pod that is stored already. It has no phase, so that nobody runs it. */
export function refusedPodStatus(message: string): Record<string, unknown> {
  return { conditions: [{ type: 'Ready', status: 'False', reason: REFUSED, message }] };
}

/** The condition of a deployment whose pods are refused. */
export function replicaFailure(message: string): Record<string, unknown> {
  return { type: 'ReplicaFailure', status: 'True', reason: REFUSED, message };
}
