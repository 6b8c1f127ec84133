/** The configuration of mixs, as a store has it. */
import { MeshError } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { KubeObject, ResourceKind } from '../../model/object.ts';
import { ruleKinds } from '../../rules/config/kinds.ts';
import type { ObjectStore } from '../../sources/store/object-store.ts';
import { ownObjects } from './own-objects.ts';
import { type RulePart, type RuleSet, rulePartOf } from './rule-set.ts';

interface ReadKind {
  readonly part: RulePart | undefined;
  readonly objects: readonly KubeObject[];
  /** Why it could not be read as a whole. */
  readonly refusal?: string;
}

/**
 * Lists all kinds that mixs reads; `note` names those that may not be listed, and of these the objects of the namespace are taken where they
 * may be. A cluster without mixs does not know the kinds, and has none of them.
 */
export async function readRules(
  store: ObjectStore,
  namespace: string,
  names: Names,
): Promise<{ readonly rules: RuleSet; readonly note: string | undefined }> {
  const read = await Promise.all(ruleKinds(names.domain).map(({ resource }) => readKind(store, resource, namespace)));
  const refused = read.filter(({ refusal }) => refusal !== undefined);
  const unread = new Set(refused.flatMap(({ part }) => part ?? []));
  return {
    rules: { objects: read.flatMap(({ objects }) => objects), unread, isWhole: refused.length === 0 },
    note: describeRefusals(refused.flatMap(({ refusal }) => refusal ?? [])),
  };
}

async function readKind(store: ObjectStore, kind: ResourceKind, namespace: string): Promise<ReadKind> {
  const part = rulePartOf(kind.kind);
  try {
    return { part, objects: await store.list(kind) };
  } catch (thrown) {
    const { code, message } = MeshError.from(thrown);
    if (code === 'not_found') return { part, objects: [] };
    if (code !== 'permission_denied') throw thrown;
    return { part, objects: namespace === '' ? [] : await ownObjects(store, kind, namespace), refusal: message };
  }
}

/** Rights are mostly given for all of these kinds or for none: one reason stands for them. */
function describeRefusals(refusals: readonly string[]): string | undefined {
  const [first, ...others] = refusals;
  if (first === undefined || others.length === 0) return first;
  return `${first}; the same of ${others.length} more kinds of mixs`;
}
