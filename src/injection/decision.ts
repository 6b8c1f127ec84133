import type { Names } from '../lib/names.ts';
import type { InjectionConfig } from './config.ts';
import { annotationsOf, labelsOf, type PodManifest } from './pod.ts';
import { selects } from './selector.ts';
import type { Labels } from './shape.ts';

/** The namespace a pod is in, and what says that pods of it may be injected at all. */
export interface PodNamespace {
  readonly name: string;
  readonly chosen: NamespaceChoice;
}

export type NamespaceChoice =
  /** The namespace's own labels decide, as the webhook's namespaceSelector does in Kubernetes. */
  | { readonly by: 'labels'; readonly labels: Labels }
  /** The caller has chosen already: the API server called the webhook, or a person named the file to inject. */
  | { readonly by: 'caller' }
  /** A person insists: annotation, selectors and policy are not asked; what cannot work stays refused. */
  | { readonly by: 'force' };

export type Decision = { readonly inject: boolean; readonly reason: string };

/** Label of the namespaces whose pods are injected, and the value that says so. */
export const NAMESPACE_LABEL = 'mesh-injection';
export const NAMESPACE_LABEL_VALUE = 'enabled';

const NEVER_NAMESPACES: readonly string[] = ['kube-system', 'kube-public'];
const YES: readonly string[] = ['y', 'yes', 'true', 'on'];

/**
 * Whether a pod gets a sidecar, and why. The first rule that applies decides: system namespace, namespace not chosen, host
 * network, the pod's own annotation, neverInjectSelector, alwaysInjectSelector, policy.
 */
export function shouldInject(pod: PodManifest, namespace: PodNamespace, config: InjectionConfig, names: Names): Decision {
  const no = (reason: string): Decision => ({ inject: false, reason });
  if (NEVER_NAMESPACES.includes(namespace.name)) return no(`namespace ${namespace.name} belongs to the orchestrator`);
  if (!isChosen(namespace.chosen)) {
    return no(`namespace ${namespace.name} lacks the label ${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}`);
  }
  if (pod.spec.hostNetwork === true) return no('the pod uses the network of its host');
  if (namespace.chosen.by === 'force') return { inject: true, reason: 'injection is forced' };
  return byAnnotation(pod, names) ?? bySelector(pod, config) ?? byPolicy(config);
}

function isChosen(chosen: NamespaceChoice): boolean {
  switch (chosen.by) {
    case 'labels':
      return chosen.labels[NAMESPACE_LABEL] === NAMESPACE_LABEL_VALUE;
    case 'caller':
    case 'force':
      return true;
  }
}

function byAnnotation(pod: PodManifest, names: Names): Decision | undefined {
  const annotation = annotationsOf(pod)[names.injectAnnotation];
  if (annotation === undefined) return undefined;
  const inject = YES.includes(annotation.toLowerCase());
  return { inject, reason: `annotation ${names.injectAnnotation} is ${JSON.stringify(annotation)}` };
}

function bySelector(pod: PodManifest, config: InjectionConfig): Decision | undefined {
  const labels = labelsOf(pod);
  const index = (selectors: InjectionConfig['neverInjectSelector']) =>
    selectors.findIndex((selector) => selects(selector, labels));
  const never = index(config.neverInjectSelector);
  if (never >= 0) return { inject: false, reason: `neverInjectSelector[${never}] selects the pod's labels` };
  const always = index(config.alwaysInjectSelector);
  if (always >= 0) return { inject: true, reason: `alwaysInjectSelector[${always}] selects the pod's labels` };
  return undefined;
}

function byPolicy(config: InjectionConfig): Decision {
  return { inject: config.policy === 'enabled', reason: `the injection policy is ${config.policy}` };
}
