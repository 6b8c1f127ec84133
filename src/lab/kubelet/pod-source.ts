import type { KubeObject } from '../../model/object.ts';

/** The pods that a kubelet is to run, and where it says how they are doing. */
export interface PodSource {
  list(): readonly KubeObject[];
  /** Writes the status of a pod, unless the pod is gone. */
  report(pod: KubeObject, status: Readonly<Record<string, unknown>>): Promise<void>;
  /** Says that nothing runs any more of a pod that is being deleted. */
  release(pod: KubeObject): Promise<void>;
}

/** Whether somebody has asked for the pod's end; it is there until its kubelet has brought that about. */
export function isBeingDeleted({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}
