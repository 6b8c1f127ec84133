/** Waits until what was applied is ready, with a deadline. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { type Duration, formatDuration } from '../../lib/duration.ts';
import { describeRef, type KubeObject, type ObjectRef } from '../../model/object.ts';
import { listObjects } from '../../sources/store/kubernetes/list-objects.ts';
import { asFields } from '../../sources/store/kubernetes/received.ts';
import { getObject, refOfInstalled } from './apply-object.ts';
import type { ObjectOutcome, Report } from './outcome.ts';
import { definitionReadiness, deploymentReadiness, type Readiness, waitingReason } from './readiness.ts';

export interface Waiting {
  readonly client: KubernetesClient;
  readonly report: Report;
  /** For all of them together. */
  readonly limit: Duration;
  /** Of a limit that has begun already. */
  readonly deadline?: AbortSignal;
  readonly signal: AbortSignal;
}

const POLL_MS = 250;
const PODS = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true } as const;

/** Resolves when the API server has taken the kinds up, or with what it has not within the limit. */
export function waitForDefinitions(objects: readonly KubeObject[], waiting: Waiting): Promise<readonly ObjectOutcome[]> {
  return waitForAll(objects, waiting, async (_, object) => definitionReadiness(object));
}

/** Resolves when all pods of the Deployments are available, or with those that are not within the limit, and why. */
export function waitForDeployments(objects: readonly KubeObject[], waiting: Waiting): Promise<readonly ObjectOutcome[]> {
  return waitForAll(objects, waiting, async (ref, object) => {
    const readiness = deploymentReadiness(object);
    if (readiness.ready) return readiness;
    const reason = waitingReason(await podsOf(ref, object, waiting));
    return reason === undefined ? readiness : { ready: false, reason: `${readiness.reason} (${reason})` };
  });
}

export function deadlineOf(limit: Duration): AbortSignal {
  return AbortSignal.timeout(Math.ceil(limit));
}

type Check = (ref: ObjectRef, object: unknown) => Promise<Readiness>;

async function waitForAll(objects: readonly KubeObject[], waiting: Waiting, check: Check): Promise<readonly ObjectOutcome[]> {
  const { limit, signal, deadline = deadlineOf(limit) } = waiting;
  const either = AbortSignal.any([signal, deadline]);
  let pending = objects.map((object): Pending => ({ ref: refOfInstalled(object), reason: 'not there yet' }));
  try {
    while (pending.length > 0) {
      pending = await lookAt(pending, { ...waiting, signal: either }, check);
      if (pending.length > 0) await sleep(POLL_MS, undefined, { signal: either });
    }
    return [];
  } catch (error) {
    if (signal.aborted || !deadline.aborted) throw error;
    const late = (ref: ObjectRef, reason: string): string =>
      `${describeRef(ref)} is not ready after ${formatDuration(limit)}: ${reason}`;
    return pending.map(({ ref, reason }) => ({ ref, outcome: { type: 'failed', message: late(ref, reason) } }));
  }
}

interface Pending {
  readonly ref: ObjectRef;
  readonly reason: string;
}

/** Those that are still not ready. */
async function lookAt(pending: readonly Pending[], waiting: Waiting, check: Check): Promise<Pending[]> {
  const left: Pending[] = [];
  for (const { ref, reason } of pending) {
    const readiness = await check(ref, await getObject(waiting.client, ref, waiting.signal));
    if (readiness.ready) continue;
    if (readiness.reason !== reason) waiting.report.progress(`waiting for ${describeRef(ref)}: ${readiness.reason}`);
    left.push({ ref, reason: readiness.reason });
  }
  return left;
}

async function podsOf(
  { namespace = '' }: ObjectRef,
  deployment: unknown,
  { client, signal }: Waiting,
): Promise<readonly unknown[]> {
  const { matchLabels } = asFields(asFields(asFields(deployment)['spec'])['selector']);
  const labelSelector = Object.entries(asFields(matchLabels))
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(',');
  return (await listObjects(client, PODS, { namespace, labelSelector, signal })).objects;
}
