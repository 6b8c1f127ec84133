import type { MeshConfig } from '../../model/mesh-config.ts';
import type { KubeObject } from '../../model/object.ts';
import { type Admission, INJECTION_CONFIG_MAP } from '../admission.ts';
import type { Cluster } from '../cluster.ts';
import { isRecord } from '../kubelet/fields.ts';
import { deploymentStatus, planDeployment, podOf, replicasOf, templateHashOf } from './deployment-plan.ts';
import { isOwnedBy, podView } from './pod-view.ts';

export interface WorkloadControllerOptions {
  readonly cluster: Cluster;
  readonly admission: Admission;
  readonly mesh: () => MeshConfig;
  /** Namespace of the control plane. */
  readonly rootNamespace: string;
  readonly random: () => number;
}

/** Admits new pods, and makes, replaces and removes the pods of deployments. */
export class WorkloadController {
  readonly #options: WorkloadControllerOptions;
  /** Pods written but not yet seen, so that a slow watch does not make them twice. */
  readonly #pending = new Map<string, KubeObject>();

  constructor(options: WorkloadControllerOptions) {
    this.#options = options;
  }

  async reconcile(): Promise<void> {
    const { cluster } = this.#options;
    for (const pod of cluster.list('pod')) this.#pending.delete(keyOf(pod));
    for (const pod of cluster.list('pod')) if (!isAdmitted(pod)) await cluster.replace(this.#admit(pod));
    await this.#collectGarbage();
    for (const deployment of cluster.list('deployment')) await this.#reconcileDeployment(deployment);
  }

  async #reconcileDeployment(deployment: KubeObject): Promise<void> {
    const { cluster, random } = this.#options;
    const hash = templateHashOf(deployment);
    const known = [...cluster.list('pod'), ...this.#pending.values()].filter((pod) => isOwnedBy(pod, deployment)).map(podView);
    const plan = planDeployment(replicasOf(deployment), hash, known);
    for (let made = 0; made < plan.create; made++) {
      const pod = this.#admit(podOf(deployment, hash, random));
      this.#pending.set(keyOf(pod), pod);
      await cluster.create(pod);
    }
    for (const { object } of plan.remove) await cluster.delete('pod', object);
    const status = deploymentStatus(deployment, hash, known);
    if (JSON.stringify(status) !== JSON.stringify(deployment['status'])) await cluster.replace({ ...deployment, status });
  }

  /** Pods whose deployment is gone. */
  async #collectGarbage(): Promise<void> {
    const { cluster } = this.#options;
    const owners = new Set(cluster.list('deployment').map(({ metadata }) => metadata.uid));
    for (const pod of cluster.list('pod')) {
      const owner = pod.metadata.ownerReferences?.find(({ kind }) => kind === 'Deployment');
      if (owner !== undefined && !owners.has(owner.uid)) await cluster.delete('pod', pod);
    }
  }

  #admit(pod: KubeObject): KubeObject {
    const { cluster, admission, mesh, rootNamespace } = this.#options;
    const namespace = cluster.find('namespace', undefined, pod.metadata.namespace ?? 'default');
    const configMap = cluster.find('configMap', rootNamespace, INJECTION_CONFIG_MAP);
    return admission.admit(pod, { namespace, configMap, mesh: mesh() });
  }
}

function isAdmitted({ status }: KubeObject): boolean {
  return isRecord(status) && typeof status['phase'] === 'string';
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
