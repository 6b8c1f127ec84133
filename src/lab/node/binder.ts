import type { KubeObject } from '../../model/object.ts';
import { Fields } from '../kubelet/fields.ts';
import { isBeingDeleted } from '../kubelet/pod-source.ts';

const DEFAULT_SCHEDULER = 'default-scheduler';

/** The node that a pod was bound to. */
export function nodeNameOf(pod: KubeObject): string | undefined {
  return new Fields(pod['spec'], 'spec', []).string('nodeName') || undefined;
}

/** Whether a pod waits for a node and would have this one. Of what a scheduler looks at, the lab knows the node selector. */
export function isToBind(pod: KubeObject, labels: Readonly<Record<string, string>>): boolean {
  if (nodeNameOf(pod) !== undefined || isBeingDeleted(pod)) return false;
  const spec = new Fields(pod['spec'], 'spec', []);
  if ((spec.string('schedulerName') ?? DEFAULT_SCHEDULER) !== DEFAULT_SCHEDULER) return false;
  if (spec.list('schedulingGates').length > 0) return false;
  return Object.entries(spec.stringMap('nodeSelector')).every(([key, value]) => labels[key] === value);
}
