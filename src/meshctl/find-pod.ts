import { MeshError } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import { DEFAULT_NAMESPACE } from '../model/parse/object.ts';

/** `NAME[.NAMESPACE]`; `flag` is what -n says, or empty. Throws `usage` when they contradict each other. */
export function parseTarget(word: string, flag: string): { readonly name: string; readonly namespace: string } {
  const [name = '', namespace, ...more] = word.split('.');
  if (name === '' || namespace === '' || more.length > 0)
    throw new MeshError('usage', `"${word}" is not NAME[.NAMESPACE], such as httpbin.foo`);
  if (namespace !== undefined && flag !== '' && namespace !== flag)
    throw new MeshError('usage', `${word} names namespace "${namespace}", -n names "${flag}"; give one of them`);
  return { name, namespace: namespace ?? (flag || DEFAULT_NAMESPACE) };
}

interface Named {
  readonly name: string;
  readonly namespace: string;
}

/** Deployments name their pods `NAME-<hash>-<suffix>`, other workloads `NAME-<suffix>` or `NAME-<number>`. */
function isOf(workload: string, pod: string): boolean {
  const rest = pod.startsWith(`${workload}-`) ? pod.slice(workload.length + 1) : undefined;
  return rest !== undefined && /^(?:[a-z0-9]{1,10}-)?[a-z0-9]{1,5}$/.test(rest);
}

/** The pod of that name, else the first pod of the workload of that name. */
export function findPod<T extends Named>(pods: readonly T[], { name, namespace }: Named): T | undefined {
  const own = pods.filter((pod) => pod.namespace === namespace);
  return own.find((pod) => pod.name === name) ?? own.toSorted(byName).find((pod) => isOf(name, pod.name));
}

/** As findPod. Throws `not_found` with what there is. */
export function requirePod<T extends Named>(pods: readonly T[], target: Named): T {
  const found = findPod(pods, target);
  if (found !== undefined) return found;
  const own = pods.filter(({ namespace }) => namespace === target.namespace).map(({ name }) => name);
  const there =
    own.length === 0 ? 'it has none' : `it has ${own.toSorted().slice(0, 5).join(', ')}${own.length > 5 ? ', ...' : ''}`;
  const message = `namespace ${target.namespace} has no pod ${target.name}${suggestion(target.name, own)}; ${there}`;
  throw new MeshError('not_found', message);
}

const byName = (a: Named, b: Named): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
