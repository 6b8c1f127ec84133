/** Finds and deletes what is of an installation. */
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import { describeRef, type KubeObject, type ObjectRef } from '../../model/object.ts';
import { objectPath } from '../../sources/store/kubernetes/resource-path.ts';
import { getObject, refOfInstalled } from './apply-object.ts';
import { CRD, installedKinds, NAMESPACE } from './installed-kinds.ts';
import { listServed } from './list-served.ts';
import type { ObjectOutcome, Outcome, Report } from './outcome.ts';
import { isKeptForUser } from './ownership.ts';

export interface PruneOptions {
  readonly client: KubernetesClient;
  readonly names: Names;
  /** Of the control plane. */
  readonly namespace: string;
  readonly dryRun: boolean;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** Everything that bears the installation's label, but its namespace; what depends on others first. */
export async function installedObjects({ client, names, namespace, signal }: PruneOptions): Promise<readonly KubeObject[]> {
  const kinds = installedKinds(names)
    .filter((kind) => kind !== CRD && kind !== NAMESPACE)
    .reverse();
  const labelSelector = `${names.installationLabel}=${namespace}`;
  const lists: KubeObject[] = [];
  for (const kind of kinds) {
    const scope = kind.namespaced ? { namespace } : {};
    lists.push(...(await listServed(client, kind, { ...scope, labelSelector, signal })));
  }
  return lists;
}

/** Deletes what an earlier version installed and this one has not; configuration, which is the user's, stays. */
export async function prune(current: readonly KubeObject[], options: PruneOptions): Promise<readonly ObjectOutcome[]> {
  const kept = new Set(current.map((object) => describeRef(refOfInstalled(object))));
  const outcomes: ObjectOutcome[] = [];
  for (const object of await installedObjects(options)) {
    const ref = refOfInstalled(object);
    if (kept.has(describeRef(ref)) || (await isKept(object, options))) continue;
    outcomes.push(await remove(ref, options));
  }
  return outcomes;
}

/** Whether an object is left to the user, as it is now. */
export async function isKept(object: KubeObject, { client, signal }: Pick<PruneOptions, 'client' | 'signal'>): Promise<boolean> {
  return isKeptForUser(object, await getObject(client, refOfInstalled(object), signal));
}

/** Deletes one object; one that is not there any more counts as deleted. */
export async function remove(ref: ObjectRef, options: Omit<PruneOptions, 'names' | 'namespace'>): Promise<ObjectOutcome> {
  const outcome = await tryRemove(ref, options);
  options.report.done(ref, outcome);
  return { ref, outcome };
}

async function tryRemove(
  ref: ObjectRef,
  { client, dryRun, signal }: Omit<PruneOptions, 'names' | 'namespace'>,
): Promise<Outcome> {
  try {
    await client.request({
      method: 'DELETE',
      path: objectPath(ref),
      query: { propagationPolicy: 'Background', ...(dryRun ? { dryRun: 'All' } : {}) },
      what: `delete ${describeRef(ref)}`,
      signal,
    });
    return { type: 'deleted' };
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code === 'cancelled') throw error;
    return error.code === 'not_found' ? { type: 'deleted' } : { type: 'failed', message: error.message };
  }
}
