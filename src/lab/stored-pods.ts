import type { KubeObject } from '../model/object.ts';
import type { Cluster } from './cluster.ts';
import type { PodSource } from './kubelet/pod-source.ts';

/** The pods of a lab that is its own cluster: whoever deletes one there removes its object at once. */
export function storedPods(cluster: Cluster): PodSource {
  return {
    list: () => cluster.list('pod'),
    report: (pod, status) => cluster.replace({ ...withoutVersion(pod), status }),
    release: (pod) => cluster.delete('pod', pod),
  };
}

/** The kubelet alone writes statuses: its last one wins. */
function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
