import type { KubeObject } from '../../model/object.ts';
import type { Cluster } from '../cluster.ts';
import { isRecord } from '../kubelet/fields.ts';
import type { PodSource } from '../kubelet/pod-source.ts';
import { nodeNameOf } from './binder.ts';
import type { NodeApi } from './node-api.ts';

/** The pods of a real cluster that were bound to this node. */
export function nodePods(cluster: Pick<Cluster, 'list'>, api: Pick<NodeApi, 'reportPod' | 'removePod'>, node: string): PodSource {
  return {
    list: () => cluster.list('pod').filter((pod) => nodeNameOf(pod) === node),
    report: (pod, status) => api.reportPod(pod, { ...status, conditions: withOthers(pod, status['conditions']) }),
    release: (pod) => api.removePod(pod),
  };
}

/** The kubelet's conditions, and those that others have written. */
function withOthers(pod: KubeObject, own: unknown): readonly unknown[] {
  const ownConditions = conditionsOf(own);
  const types = new Set(ownConditions.map(({ type }) => type));
  const status = isRecord(pod['status']) ? pod['status'] : {};
  return [...ownConditions, ...conditionsOf(status['conditions']).filter(({ type }) => !types.has(type))];
}

function conditionsOf(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
