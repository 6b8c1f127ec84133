import type { KubeObject } from '../../model/object.ts';
import { NODE_NAME } from '../kubelet/pod-fields.ts';
import { isOver, type PodView } from './pod-view.ts';
import type { ServicePortView, ServiceView } from './service-view.ts';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
const MANAGER = 'mesh-lab';

interface SlicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

/** Whether a slice is one that the lab writes. */
export function isManaged(slice: KubeObject): boolean {
  return slice.metadata.labels?.[MANAGED_BY_LABEL] === MANAGER;
}

/**
 * The EndpointSlices of a service with a selector, from the pods of its namespace. Pods that resolve a named target port
 * differently go to different slices, since a slice has one list of ports.
 */
export function slicesOf(service: ServiceView, pods: readonly PodView[]): readonly KubeObject[] {
  const { selector } = service;
  if (selector === undefined || Object.keys(selector).length === 0 || service.isExternalName) return [];
  const groups = new Map<string, { readonly ports: readonly SlicePort[]; readonly pods: PodView[] }>();
  for (const pod of pods) {
    if (pod.podIp === undefined || isOver(pod) || !matches(selector, pod)) continue;
    const ports = service.ports.flatMap((port) => slicePort(port, pod));
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, pods: [] };
    group.pods.push(pod);
    groups.set(key, group);
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group], index) => slice(service, index, group.ports, group.pods));
}

function matches(selector: Readonly<Record<string, string>>, pod: PodView): boolean {
  return Object.entries(selector).every(([key, value]) => pod.labels[key] === value);
}

function slicePort(port: ServicePortView, pod: PodView): SlicePort[] {
  const { targetPort, protocol } = port;
  const number = typeof targetPort === 'number' ? targetPort : pod.ports.find(({ name }) => name === targetPort)?.number;
  if (number === undefined) return [];
  return [
    { name: port.name, port: number, protocol, ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }) },
  ];
}

function slice(service: ServiceView, index: number, ports: readonly SlicePort[], pods: readonly PodView[]): KubeObject {
  const { name, namespace, object } = service;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${index}`,
      namespace,
      labels: { [SERVICE_NAME_LABEL]: name, [MANAGED_BY_LABEL]: MANAGER },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid: object.metadata.uid ?? '', controller: true }],
    },
    addressType: 'IPv4',
    ports,
    endpoints: pods
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((pod) => {
        const ready = pod.ready || service.publishNotReady;
        return {
          addresses: [pod.podIp],
          conditions: { ready, serving: ready, terminating: false },
          nodeName: NODE_NAME,
          targetRef: { kind: 'Pod', namespace, name: pod.name, uid: pod.object.metadata.uid },
        };
      }),
  };
}
