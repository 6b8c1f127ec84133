import { formatProblem, type Parsed, type Problem } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { RegisteredCluster } from '../cluster-registry.ts';
import type { KubeObject } from '../object.ts';
import { checkDnsLabel, checkDnsSubdomain } from './dns.ts';
import { Fields } from './fields.ts';
import { isMapping } from './object.ts';
import { joinPath } from './path.ts';
import { readYaml } from './yaml.ts';

/** What one key of the ConfigMap says. */
export type RegistryEntry =
  | { readonly key: string; readonly ok: true; readonly cluster: RegisteredCluster }
  | { readonly key: string; readonly ok: false; readonly problems: readonly Problem[] };

const KIND = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' } as const;

/**
 * Parses the ConfigMap of remote clusters: under each key a Cluster of clusterregistry.k8s.io/v1alpha1, as YAML or JSON, whose annotations
 * `config.<mesh domain>/accessConfigSecret` and `accessConfigSecretNamespace` name the Secret with its kubeconfig. Each entry stands for
 * itself; sorted by key. `namespace`: of secrets that name none.
 */
export function parseClusterRegistry(object: KubeObject, names: Names, namespace: string): readonly RegistryEntry[] {
  const { data } = object;
  if (!isMapping(data)) return [];
  return Object.keys(data)
    .sort()
    .map((key) => {
      const parsed = parseEntry(key, data[key], names, namespace);
      return parsed.ok ? { key, ok: true, cluster: parsed.value } : { key, ok: false, problems: parsed.problems };
    });
}

function parseEntry(key: string, text: unknown, names: Names, namespace: string): Parsed<RegisteredCluster> {
  const path = joinPath('data', key);
  const failed = (message: string): Parsed<never> => ({ ok: false, problems: [{ path, message }] });
  if (typeof text !== 'string') return failed('must be a text: a Cluster as YAML');
  const read = readYaml(text);
  if (!read.ok) return failed(formatProblem(read.problem));
  const [value, second] = read.value.values.filter((document) => document !== null && document !== undefined);
  if (value === undefined || second !== undefined) return failed('must be one Cluster');
  return parseCluster(key, value, { path, prefix: `config.${names.domain}/`, namespace });
}

interface Place {
  readonly path: string;
  readonly prefix: string;
  readonly namespace: string;
}

function parseCluster(key: string, value: unknown, { path, prefix, namespace }: Place): Parsed<RegisteredCluster> {
  const problems: Problem[] = [];
  const root = new Fields(value, path, problems);
  for (const field of ['apiVersion', 'kind'] as const) {
    if (root.text(field) !== KIND[field]) root.refuse(field, `must be ${KIND[field]}`);
  }
  const metadata = root.object('metadata');
  const annotations = metadata.textMap('annotations');
  const report = (name: string, message: string | undefined): void => {
    if (message !== undefined) problems.push({ path: `${path}.metadata.annotations.${prefix}${name}`, message });
  };
  const platform = annotations[`${prefix}platform`] ?? 'Kubernetes';
  if (platform !== 'Kubernetes') report('platform', `"${platform}" is not supported; only Kubernetes is`);
  const secret = annotations[`${prefix}accessConfigSecret`] ?? '';
  report('accessConfigSecret', secret === '' ? 'required: the Secret with the kubeconfig' : checkDnsSubdomain(secret));
  const secretNamespace = annotations[`${prefix}accessConfigSecretNamespace`] ?? namespace;
  report('accessConfigSecretNamespace', checkDnsLabel(secretNamespace));
  if (problems.length > 0) return { ok: false, problems };
  const keys = [...new Set([key, metadata.text('name') ?? key])];
  return { ok: true, value: { name: key, secret: { namespace: secretNamespace, name: secret }, keys } };
}
