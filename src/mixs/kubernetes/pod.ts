/** What is known of a pod, read from the API's object. */
import { familyOf } from '../../model/address.ts';
import type { KubeObject, OwnerReference } from '../../model/object.ts';
import { Fields } from '../../model/parse/fields.ts';
import { FROM_TEXT } from '../../rules/expression/canonical.ts';
import type { KubernetesOutput } from '../../rules/template/instances.ts';

export interface KnownPod {
  readonly output: Omit<KubernetesOutput, 'containerName'>;
  /** Those by which nobody else is known: none of a pod in its node's network, nor of one that has ended. */
  readonly ips: readonly string[];
  readonly containers: ReadonlyMap<number, string>;
}

const HASH_LABEL = 'pod-template-hash';

/** Fields of another shape than the API's read as absent: a pod is never refused. */
export function readPod(object: KubeObject): KnownPod {
  const { name, namespace = 'default', labels = {} } = object.metadata;
  const fields = new Fields(object, '', []);
  const spec = fields.object('spec');
  const status = fields.object('status');
  const workload = workloadOf(object);
  const ips = [status.text('podIP'), ...status.objects('podIPs').map((each) => each.text('ip'))].flatMap(ipOf);
  const ended = ['Succeeded', 'Failed'].includes(status.text('phase') ?? '');
  return {
    output: {
      podName: name,
      podUid: uidOf(namespace, name),
      podIp: ips[0],
      labels: new Map(Object.entries(labels)),
      namespace,
      serviceAccount: spec.text('serviceAccountName') || 'default',
      hostIp: ipOf(status.text('hostIP'))[0],
      owner: `kubernetes://apis/${workload.apiVersion}/namespaces/${namespace}/${workload.plural}/${workload.name}`,
      workloadUid: `istio://${namespace}/workloads/${workload.name}`,
      workloadName: workload.name,
      workloadNamespace: namespace,
    },
    ips: spec.boolean('hostNetwork') === true || ended ? [] : [...new Set(ips)],
    containers: containersOf(spec),
  };
}

/** As attributes name a pod: `kubernetes://pod.namespace`. */
export function uidOf(namespace: string, name: string): string {
  return `kubernetes://${name}.${namespace}`;
}

interface Workload {
  readonly apiVersion: string;
  readonly plural: string;
  readonly name: string;
}

/** What made the pod: its controller, or the Deployment behind its ReplicaSet; the pod itself where nothing did. */
function workloadOf({ metadata }: KubeObject): Workload {
  const owners: readonly OwnerReference[] = metadata.ownerReferences ?? [];
  const owner = owners.find(({ controller }) => controller === true);
  if (owner === undefined) return { apiVersion: 'v1', plural: 'pods', name: metadata.name };
  const { apiVersion, kind, name } = owner;
  // A Deployment names its ReplicaSets by itself and the hash that their pods carry.
  const suffix = `-${metadata.labels?.[HASH_LABEL] ?? ''}`;
  if (kind === 'ReplicaSet' && suffix !== '-' && name.endsWith(suffix))
    return { apiVersion, plural: 'deployments', name: name.slice(0, -suffix.length) };
  return { apiVersion, plural: `${kind.toLowerCase()}s`, name };
}

function containersOf(spec: Fields): ReadonlyMap<number, string> {
  const byPort = new Map<number, string>();
  const sidecars = spec.objects('initContainers').filter((container) => container.text('restartPolicy') === 'Always');
  for (const container of [...spec.objects('containers'), ...sidecars]) {
    for (const entry of container.objects('ports')) {
      const port = entry.port('containerPort');
      if (port !== undefined && !byPort.has(port)) byPort.set(port, container.text('name') ?? '');
    }
  }
  return byPort;
}

function ipOf(text: string | undefined): readonly string[] {
  return text === undefined || familyOf(text) === undefined ? [] : [FROM_TEXT.IP_ADDRESS(text) ?? text];
}
