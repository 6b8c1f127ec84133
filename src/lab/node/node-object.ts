import { cpus, release, totalmem } from 'node:os';
import { buildInfo } from '../../lib/version.ts';
import type { KubeObject } from '../../model/object.ts';
import { Fields } from '../kubelet/fields.ts';
import { NODE_ADDRESS } from '../network/addresses.ts';

/** As many as a kubelet takes by default. */
const MAX_PODS = '110';

const PRESSURES = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The labels that every node has (https://kubernetes.io/docs/reference/labels-annotations-taints/), and those that the user wants. */
export function nodeLabels(name: string, own: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64', ...own };
}

export function nodeObject(name: string, labels: Readonly<Record<string, string>>): KubeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
}

/** What a kubelet says of its node while all is well; `kubeletPort` is where it serves its API, if it does. */
export function nodeStatus(name: string, now: Date, kubeletPort?: number): Readonly<Record<string, unknown>> {
  const at = now.toISOString();
  const condition = (type: string, status: 'True' | 'False', reason: string) => {
    return { type, status, reason, lastHeartbeatTime: at, lastTransitionTime: at };
  };
  const resources = { cpu: `${cpus().length}`, memory: `${Math.floor(totalmem() / 1_024)}Ki`, pods: MAX_PODS };
  return {
    conditions: [
      ...PRESSURES.map((type) => condition(type, 'False', 'KubeletHasNoPressure')),
      condition('Ready', 'True', 'KubeletReady'),
    ],
    addresses: [
      { type: 'InternalIP', address: NODE_ADDRESS },
      { type: 'Hostname', address: name },
    ],
    ...(kubeletPort === undefined ? {} : { daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } } }),
    capacity: resources,
    allocatable: resources,
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: release(),
      osImage: 'mesh lab',
      containerRuntimeVersion: `mesh-lab://${buildInfo.version}`,
      kubeletVersion: `v${buildInfo.version}`,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
  };
}

export function isNodeReady(node: KubeObject): boolean {
  const conditions = new Fields(node['status'], 'status', []).list('conditions');
  return conditions.some((condition) => condition.string('type') === 'Ready' && condition.string('status') === 'True');
}
