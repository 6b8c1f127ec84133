/** The pods that workloads of a manifest would make. */
import type { InjectionConfig } from '../../injection/config.ts';
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE, shouldInject } from '../../injection/decision.ts';
import { requirePod } from '../../injection/pod.ts';
import { isRecord } from '../../injection/shape.ts';
import { mapPods, type Workload } from '../../injection/workload.ts';
import type { Names } from '../../lib/names.ts';
import type { KubeObject } from '../../model/object.ts';

/** Pods as an API server would store them, one a template; none for a workload of no replicas. Throws MeshError `invalid`. */
export function podsOfTemplates(object: unknown, namespace: string): readonly KubeObject[] {
  const pods: KubeObject[] = [];
  const isEmpty = isRecord(object) && isRecord(object['spec']) && object['spec']['replicas'] === 0;
  if (isEmpty || (isRecord(object) && object['kind'] === 'Pod')) return pods;
  mapPods(object, namespace, (workload) => {
    pods.push(podOf(workload));
    return undefined;
  });
  return pods;
}

function podOf({ pod: template, namespace, title }: Workload): KubeObject {
  const { metadata, spec } = requirePod(template, title);
  const { labels, annotations } = metadata ?? {};
  const name = title.slice(title.indexOf('/') + 1);
  const meta = { name, namespace, ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) };
  return { apiVersion: 'v1', kind: 'Pod', metadata: meta, spec };
}

/** The pod with the mark of injection, if it would be injected; the pod itself otherwise. */
export function withPredictedSidecar(
  pod: KubeObject,
  labels: Readonly<Record<string, string>>,
  config: InjectionConfig,
  names: Names,
): KubeObject {
  const namespace = { name: pod.metadata.namespace ?? 'default', chosen: { by: 'labels', labels } } as const;
  const manifest = requirePod(pod, `Pod ${namespace.name}/${pod.metadata.name}`);
  if (labels[NAMESPACE_LABEL] !== NAMESPACE_LABEL_VALUE || !shouldInject(manifest, namespace, config, names).inject) return pod;
  const annotations = { [names.statusAnnotation]: '{}', ...pod.metadata.annotations };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}
