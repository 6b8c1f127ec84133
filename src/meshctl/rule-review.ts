import { formatProblem, MeshError, type Problem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { describeObject, type KubeObject } from '../model/object.ts';
import type { KindedObject } from '../model/parse/object.ts';
import type { ObjectProblem } from '../rules/config/configuration.ts';
import { ruleKinds } from '../rules/config/kinds.ts';
import { reviewRules } from '../rules/config/review.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';

/** An object that is to be written, and where it stands if that is known. */
type Written = KindedObject & { readonly file?: string; readonly lineOf?: (path: string) => number };

/** What is wrong with manifests of mixs' configuration, seen as parts of what the store will hold. */
export async function reviewRuleManifests(
  manifests: readonly Written[],
  store: ObjectStore,
  names: Names,
): Promise<{ readonly refused: readonly Problem[]; readonly warnings: readonly string[] }> {
  const kinds = ruleKinds(names.domain).map(({ resource }) => resource);
  const versions = new Set(kinds.map(({ apiVersion }) => apiVersion));
  const written = new Map(manifests.filter(({ kind }) => versions.has(kind.apiVersion)).map((one) => [one.object, one]));
  if (written.size === 0) return { refused: [], warnings: [] };
  const stored = await Promise.all(kinds.map((kind) => store.list(kind).catch(noneWithoutKind)));
  const { refused, dangling } = reviewRules(stored.flat(), [...written.keys()]);
  const located = ({ object, path, message }: ObjectProblem): Problem => {
    const { file, lineOf } = written.get(object) ?? {};
    const line = lineOf?.(path);
    const place = { path, message: `${describeObject(object)}: ${message}` };
    return { ...place, ...(file === undefined ? {} : { file }), ...(line === undefined ? {} : { line }) };
  };
  return {
    refused: refused.map(located),
    warnings: dangling.map((problem) => `${formatProblem(located(problem))}; it is not in force until there is`),
  };
}

/** An API server that does not know a kind has no objects of it. */
function noneWithoutKind(thrown: unknown): readonly KubeObject[] {
  if (MeshError.from(thrown).code === 'not_found') return [];
  throw thrown;
}
