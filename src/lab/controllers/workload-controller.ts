import type { Logger } from '../../io/log/logger.ts';
import { MeshError } from '../../lib/errors.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import { describeObject, type KubeObject } from '../../model/object.ts';
import { type Admission, INJECTION_CONFIG_MAP } from '../admission.ts';
import type { Cluster } from '../cluster.ts';
import { isRecord } from '../kubelet/fields.ts';
import { deploymentStatus, planDeployment, podOf, replicasOf, templateHashOf } from './deployment-plan.ts';
import { isOwnedBy, podView } from './pod-view.ts';
import { refusedPodStatus } from './refusal.ts';

export interface WorkloadControllerOptions {
  readonly cluster: Cluster;
  readonly admission: Admission;
  readonly mesh: () => MeshConfig;
  /** Namespace of the control plane. */
  readonly rootNamespace: string;
  readonly random: () => number;
  readonly logger: Logger;
}

type Admitted = { readonly type: 'admitted'; readonly pod: KubeObject } | { readonly type: 'refused'; readonly message: string };

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
    for (const pod of cluster.list('pod')) if (!isAdmitted(pod)) await this.#admitStored(pod);
    await this.#collectGarbage();
    for (const deployment of cluster.list('deployment')) await this.#reconcileDeployment(deployment);
  }

  async #reconcileDeployment(deployment: KubeObject): Promise<void> {
    const { cluster, random } = this.#options;
    const hash = templateHashOf(deployment);
    const known = [...cluster.list('pod'), ...this.#pending.values()].filter((pod) => isOwnedBy(pod, deployment)).map(podView);
    const plan = planDeployment(replicasOf(deployment), hash, known);
    let refusal: string | undefined;
    for (let made = 0; made < plan.create && refusal === undefined; made++) {
      const pod = podOf(deployment, hash, random);
      const admitted = this.#admit(pod);
      // The pod's name is random: with it, each attempt would make another status, and each status another attempt.
      if (admitted.type === 'refused') refusal = admitted.message.replaceAll(pod.metadata.name, deployment.metadata.name);
      else {
        this.#pending.set(keyOf(admitted.pod), admitted.pod);
        await cluster.create(admitted.pod);
      }
    }
    for (const { object } of plan.remove) await cluster.delete('pod', object);
    await this.#setStatus(deployment, deploymentStatus(deployment, hash, known, refusal), refusal);
  }

  async #admitStored(pod: KubeObject): Promise<void> {
    const admitted = this.#admit(pod);
    if (admitted.type === 'admitted') await this.#options.cluster.replace(admitted.pod);
    else await this.#setStatus(pod, refusedPodStatus(admitted.message), admitted.message);
  }

  async #setStatus(object: KubeObject, status: Readonly<Record<string, unknown>>, refusal: string | undefined): Promise<void> {
    if (JSON.stringify(status) === JSON.stringify(object['status'])) return;
    if (refusal !== undefined)
      this.#options.logger.warn('a pod was refused', { object: describeObject(object), reason: refusal });
    await this.#options.cluster.replace({ ...object, status });
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

  /** One pod that cannot be admitted is no reason to leave the others alone. */
  #admit(pod: KubeObject): Admitted {
    const { cluster, admission, mesh, rootNamespace } = this.#options;
    const namespace = cluster.find('namespace', undefined, pod.metadata.namespace ?? 'default');
    const configMap = cluster.find('configMap', rootNamespace, INJECTION_CONFIG_MAP);
    try {
      return { type: 'admitted', pod: admission.admit(pod, { namespace, configMap, mesh: mesh() }) };
    } catch (error) {
      const { code, message } = MeshError.from(error);
      if (code !== 'invalid') throw error;
      return { type: 'refused', message };
    }
  }
}

function isAdmitted({ status }: KubeObject): boolean {
  return isRecord(status) && typeof status['phase'] === 'string';
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
