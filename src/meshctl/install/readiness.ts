/** When what was applied does what it is for. Pure. */
import { asFields } from '../../sources/store/kubernetes/received.ts';

/** Ready, or why not yet. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

const READY: Readiness = { ready: true };

/** A kind whose definition is established is served. */
export function definitionReadiness(crd: unknown): Readiness {
  const conditions = conditionsOf(crd);
  if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return READY;
  const refused = conditions.find(({ type, status }) => type === 'NamesAccepted' && status === 'False');
  return { ready: false, reason: refused === undefined ? 'not established yet' : String(refused['message']) };
}

/** As `kubectl rollout status` has it: everything runs in its newest form, and is available. */
export function deploymentReadiness(deployment: unknown): Readiness {
  const { metadata, spec, status } = asFields(deployment);
  const wanted = numberOf(asFields(spec)['replicas'], 1);
  const current = asFields(status);
  const observed = numberOf(current['observedGeneration'], 0) >= numberOf(asFields(metadata)['generation'], 0);
  const updated = numberOf(current['updatedReplicas'], 0);
  const available = numberOf(current['availableReplicas'], 0);
  const total = numberOf(current['replicas'], 0);
  if (!observed) return { ready: false, reason: 'not looked at yet by the deployment controller' };
  const failure = conditionsOf(deployment).find(({ type, status: value }) => type === 'ReplicaFailure' && value === 'True');
  if (failure !== undefined) return { ready: false, reason: String(failure['message']) };
  if (updated < wanted) return { ready: false, reason: `${updated} of ${wanted} pods made` };
  if (total > updated) return { ready: false, reason: `${total - updated} older pods still run` };
  if (available < wanted) return { ready: false, reason: `${available} of ${wanted} pods available` };
  return READY;
}

/** Why a container of the pods does not run, in the API's words; undefined where they do not say. */
export function waitingReason(pods: readonly unknown[]): string | undefined {
  for (const pod of pods) {
    const status = asFields(asFields(pod)['status']);
    for (const container of listOf(status['containerStatuses'])) {
      const { reason, message } = asFields(asFields(asFields(container)['state'])['waiting']);
      if (typeof reason === 'string' && reason !== 'ContainerCreating') return [reason, message].filter(isText).join(': ');
    }
    const unscheduled = conditionsOf(pod).find(({ type, status: value }) => type === 'PodScheduled' && value === 'False');
    if (unscheduled !== undefined) return [unscheduled['reason'], unscheduled['message']].filter(isText).join(': ');
  }
  return undefined;
}

function conditionsOf(object: unknown): readonly Readonly<Record<string, unknown>>[] {
  return listOf(asFields(asFields(object)['status'])['conditions']).map(asFields);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function numberOf(value: unknown, missing: number): number {
  return typeof value === 'number' ? value : missing;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
