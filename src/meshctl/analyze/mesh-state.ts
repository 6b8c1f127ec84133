import { type InjectionConfig, parseInjectionConfig } from '../../injection/config.ts';
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../injection/decision.ts';
import { DEFAULT_INJECTION_CONFIG } from '../../injection/default-config.ts';
import type { Parsed, Problem } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { KubeObject } from '../../model/object.ts';
import { isMapping } from '../../model/parse/object.ts';
import { selects } from '../../model/service.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { compileConfiguration } from '../../rules/config/compile.ts';
import type { Configuration } from '../../rules/config/configuration.ts';
import { snapshotFrom } from '../object-snapshot.ts';
import type { AnalysedKind, MeshObjects, ObjectSet } from './mesh-objects.ts';
import { withPredictedSidecar } from './pod-templates.ts';
import type { RuleSet } from './rule-set.ts';

/** Everything that analysers look at: the objects as they are, and what the mesh makes of them. */
export interface MeshState {
  readonly names: Names;
  /** Of the control plane. */
  readonly rootNamespace: string;
  readonly now: Date;
  readonly objects: MeshObjects;
  readonly rules: RuleSet;
  /** What mixs makes of the rules. */
  readonly mixs: Configuration;
  readonly snapshot: Snapshot;
  /** What keeps objects from being used. */
  readonly unusable: readonly { readonly object: KubeObject; readonly problem: Problem }[];
  /** The injection configuration of the ConfigMap; undefined where there is none. */
  readonly injection: Parsed<InjectionConfig> | undefined;
  /** SHA-256 of a text in hex, as the injector makes the version of its template. */
  readonly hash: (text: string) => string;
  readonly unserved: readonly AnalysedKind[];
  readonly isCluster: boolean;
  /** Whether all objects of a kind are known, so that a missing one is really missing. */
  knows(kind: AnalysedKind): boolean;
}

export interface StateOptions {
  readonly names: Names;
  /** Of the control plane. */
  readonly rootNamespace: string;
  readonly domain: string;
  readonly now: Date;
  readonly hash: (text: string) => string;
  /** Pods that workloads would make, beside those there are. */
  readonly templates: readonly KubeObject[];
}

/** ConfigMap and key of the injection configuration. */
export const INJECTION_CONFIG_MAP = { name: 'mesh-sidecar-injector', key: 'config' } as const;

export function meshState(set: ObjectSet, options: StateOptions): MeshState {
  const { names, rootNamespace, domain, now, hash, templates } = options;
  const unusable: { readonly object: KubeObject; readonly problem: Problem }[] = [];
  const injection = injectionOf(set.objects.configMap, rootNamespace);
  const config = injection?.ok === true ? injection.value : builtInConfig();
  const planned = templates.filter((pod) => !hasInstance(pod, set.objects.pod));
  const labelsOf = (pod: KubeObject) => plannedLabels(pod, set.objects.namespace, rootNamespace);
  const predicted = planned.map((pod) => withPredictedSidecar(pod, labelsOf(pod), config, names));
  const pods = [...set.objects.pod, ...predicted];
  const snapshot = snapshotFrom(
    { ...set.objects, pod: pods },
    { names, domain, rootNamespace, onProblem: (object, problem) => unusable.push({ object, problem }) },
  );
  const { objects, rules, unserved, isCluster, unread } = set;
  const mixs = compileConfiguration(rules.objects);
  const knows = (kind: AnalysedKind): boolean => !unread.has(kind) || (kind === 'pod' && predicted.length > 0);
  return { names, rootNamespace, now, objects, rules, mixs, snapshot, unusable, injection, hash, unserved, isCluster, knows };
}

/** Whether some pod came from the template: it has all of its labels. */
function hasInstance(template: KubeObject, pods: readonly KubeObject[]): boolean {
  const { namespace, labels = {} } = template.metadata;
  return pods.some(({ metadata }) => metadata.namespace === namespace && selects(labels, metadata.labels ?? {}));
}

/** Of a namespace that nobody describes, it is the better guess that its owner knows of the mesh: no finding is built on it. */
function plannedLabels(pod: KubeObject, namespaces: readonly KubeObject[], root: string): Readonly<Record<string, string>> {
  const isKnown = namespaces.some(({ metadata }) => metadata.name === pod.metadata.namespace);
  return isKnown ? injectionLabels(pod, namespaces, root) : { [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE };
}

/** What chooses a pod for injection: the labels of its namespace, or in that of the control plane, which must not have it, its own. */
export function injectionLabels(
  { metadata: { namespace, labels = {} } }: KubeObject,
  namespaces: readonly KubeObject[],
  rootNamespace: string,
): Readonly<Record<string, string>> {
  const ofNamespace = namespaces.find(({ metadata }) => metadata.name === namespace)?.metadata.labels ?? {};
  const own = namespace === rootNamespace && labels[NAMESPACE_LABEL] === NAMESPACE_LABEL_VALUE;
  return own ? { ...ofNamespace, [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE } : ofNamespace;
}

function injectionOf(maps: readonly KubeObject[], rootNamespace: string): Parsed<InjectionConfig> | undefined {
  const map = maps.find(({ metadata }) => metadata.name === INJECTION_CONFIG_MAP.name && metadata.namespace === rootNamespace);
  const text = map === undefined ? undefined : dataOf(map)[INJECTION_CONFIG_MAP.key];
  return text === undefined ? undefined : parseInjectionConfig(text);
}

/** What injects where no ConfigMap says otherwise. */
export function builtInConfig(): InjectionConfig {
  const parsed = parseInjectionConfig(DEFAULT_INJECTION_CONFIG);
  if (!parsed.ok) throw new Error('the built-in injection configuration is invalid');
  return parsed.value;
}

/** The texts of a ConfigMap, or the encoded ones of a Secret. */
export function dataOf(object: KubeObject): Readonly<Record<string, string>> {
  const { data } = object;
  if (!isMapping(data)) return {};
  return Object.fromEntries(Object.entries(data).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
