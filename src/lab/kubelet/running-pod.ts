import type { KubeObject } from '../../model/object.ts';
import { podField } from './pod-fields.ts';
import type { PodSpec } from './pod-spec.ts';

/** A pod that has its address and namespaces. */
export interface RunningPod {
  readonly object: KubeObject;
  readonly spec: PodSpec;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly podIp: string;
  readonly sandboxPid: number;
}

export function fieldOf(pod: RunningPod): (fieldPath: string) => string | undefined {
  return (fieldPath) => podField(pod.object, pod.podIp, pod.spec.serviceAccountName, fieldPath);
}

/** Paths in the lab's memory file system. */
export const memoryPaths = {
  volumes: (uid: string) => `volumes/${uid}`,
  volume: (uid: string, volume: string) => `volumes/${uid}/${volume}`,
  hosts: (uid: string) => `hosts/${uid}`,
  scratch: (uid: string) => `scratch/${uid}`,
  resolvConf: 'resolv.conf',
} as const;
