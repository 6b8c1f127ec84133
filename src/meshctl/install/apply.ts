/** Brings an installation into a cluster, stage by stage. */
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { type Duration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { describeRef, type KubeObject } from '../../model/object.ts';
import { applyObject, getObject, refOfInstalled } from './apply-object.ts';
import { CRD, DEPLOYMENT, inStages, installedKind, isInjected, NAMESPACE } from './installed-kinds.ts';
import { describeConflicts, isFailure, type ObjectOutcome, type Outcome, type Report } from './outcome.ts';
import { isUserConfiguration } from './ownership.ts';
import { deadlineOf, type Waiting, waitForDefinitions, waitForDeployments } from './wait.ts';

export interface ApplyOptions {
  readonly client: KubernetesClient;
  readonly forceConflicts: boolean;
  readonly dryRun: boolean;
  /** How long Deployments are waited for; undefined: they are not. */
  readonly wait: Duration | undefined;
  readonly report: Report;
  readonly signal: AbortSignal;
}

const DEFINITIONS_LIMIT = seconds(60);

/**
 * Applies every object. A conflict leaves its object as it is and the others go on; anything else that fails ends the stage's
 * successors, which would need it, and so does a kind that is not taken up. Gives what was done.
 */
export async function applyAll(objects: readonly KubeObject[], options: ApplyOptions): Promise<readonly ObjectOutcome[]> {
  const { client, report, signal, dryRun } = options;
  const outcomes: ObjectOutcome[] = [];
  const waiting: Waiting = { client, report, limit: DEFINITIONS_LIMIT, signal };
  const applied: KubeObject[] = [];
  const waitForApplied = deploymentWaiter(options);
  for (const stage of inStages(objects)) {
    // Pods that are refused while the injector is not ready are tried again more and more seldom.
    const late = stage.some(isInjected) && !outcomes.some(isFailure) ? await waitForApplied(applied) : [];
    if (late.length > 0) return withMissing(outcomes, late, report);
    for (const object of stage) {
      const outcome = await applyOne(object, options);
      const ref = refOfInstalled(object);
      report.done(ref, outcome);
      outcomes.push({ ref, outcome });
      applied.push(object);
    }
    if (outcomes.some(({ outcome }) => outcome.type === 'failed')) return outcomes;
    const missing = dryRun ? [] : await waitForDefinitions(ofKind(stage, CRD), waiting);
    if (missing.length > 0) return withMissing(outcomes, missing, report);
  }
  return outcomes.some(isFailure) ? outcomes : withMissing(outcomes, await waitForApplied(objects), report);
}

/** Waits for Deployments where that is asked for, several times within one limit; gives those that are not ready. */
function deploymentWaiter({ client, report, signal, wait, dryRun }: ApplyOptions) {
  let deadline: AbortSignal | undefined;
  return async (objects: readonly KubeObject[]): Promise<readonly ObjectOutcome[]> => {
    if (wait === undefined || dryRun) return [];
    deadline ??= deadlineOf(wait);
    return waitForDeployments(ofKind(objects, DEPLOYMENT), { client, report, limit: wait, deadline, signal });
  };
}

/** What was applied, but does not get ready, has failed. */
function withMissing(
  outcomes: readonly ObjectOutcome[],
  missing: readonly ObjectOutcome[],
  report: Report,
): readonly ObjectOutcome[] {
  for (const { ref, outcome } of missing) report.done(ref, outcome);
  return outcomes.map((done) => missing.find(({ ref }) => describeRef(ref) === describeRef(done.ref)) ?? done);
}

async function applyOne(object: KubeObject, options: ApplyOptions): Promise<Outcome> {
  const { client, forceConflicts, dryRun, signal } = options;
  const isUsers = isUserConfiguration(object);
  try {
    if (dryRun && !(await hasNamespace(client, object, signal))) return { type: 'created' };
    const applied = await applyObject(client, object, { force: forceConflicts && !isUsers, dryRun, signal });
    if (applied.type !== 'conflict') return applied;
    const { conflicts } = applied;
    const owners = [...new Set(conflicts.map(({ owner }) => owner))].join(', ');
    if (isUsers) return { type: 'kept', message: `changed by ${owners}, and configuration is yours once it is there` };
    return { type: 'conflict', message: describeConflicts(refOfInstalled(object), conflicts), conflicts };
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code === 'cancelled') throw error;
    return { type: 'failed', message: error.message };
  }
}

/** A trial cannot put anything into a namespace that it would only make. */
async function hasNamespace(client: KubernetesClient, { metadata }: KubeObject, signal: AbortSignal): Promise<boolean> {
  if (metadata.namespace === undefined) return true;
  return (await getObject(client, { kind: NAMESPACE, name: metadata.namespace }, signal)) !== undefined;
}

function ofKind(objects: readonly KubeObject[], kind: ReturnType<typeof installedKind>): readonly KubeObject[] {
  return objects.filter((object) => installedKind(object) === kind);
}
