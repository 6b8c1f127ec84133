import type { Parsed, Problem } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { KubeObject } from '../object.ts';
import type { ContainerPort, Workload } from '../workload.ts';
import { checkDnsLabel, checkDnsSubdomain } from './dns.ts';
import { Fields } from './fields.ts';
import { isMapping } from './object.ts';

/** Parses a Kubernetes v1 Pod as far as the mesh needs it. `names` says which annotation marks an injected sidecar. */
export function parseWorkload(object: KubeObject, names: Names): Parsed<Workload> {
  const problems: Problem[] = [];
  const root = new Fields(object, '', problems);
  const metadata = root.object('metadata');
  const spec = root.object('spec');
  const status = root.object('status');
  const hostNetwork = spec.boolean('hostNetwork') ?? false;
  const workload: Workload = {
    namespace: metadata.has('namespace') ? metadata.checkedText('namespace', checkDnsLabel) : 'default',
    name: metadata.checkedText('name', checkDnsSubdomain),
    // The address of a pod in the host's network is the node's: it says nothing about the pod.
    addresses: hostNetwork ? [] : podAddresses(status),
    labels: metadata.textMap('labels'),
    // It becomes part of an identity, in which nothing may be taken for a separator.
    serviceAccount: spec.has('serviceAccountName') ? spec.checkedText('serviceAccountName', checkDnsSubdomain) : 'default',
    hasSidecar: !hostNetwork && metadata.textMap('annotations')[names.statusAnnotation] !== undefined,
    ports: [...spec.objects('initContainers'), ...spec.objects('containers')].flatMap(containerPorts),
    ready: status
      .objects('conditions')
      .some((condition) => condition.text('type') === 'Ready' && condition.text('status') === 'True'),
    state: stateOf(metadata, status),
  };
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: workload };
}

/** A Pod with what `parseWorkload` reads of it, as it is there, and nothing else: a small part of the whole. */
export function workloadPart(object: KubeObject, names: Names): KubeObject {
  const { name, namespace, labels, annotations, resourceVersion, deletionTimestamp } = object.metadata;
  const status = annotations?.[names.statusAnnotation];
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      ...given({ namespace, labels, resourceVersion, deletionTimestamp }),
      ...(status === undefined ? {} : { annotations: { [names.statusAnnotation]: status } }),
    },
    ...given({
      spec: mapPart(object['spec'], ({ hostNetwork, serviceAccountName, initContainers, containers }) =>
        given({ hostNetwork, serviceAccountName, initContainers: portsOf(initContainers), containers: portsOf(containers) }),
      ),
      status: mapPart(object['status'], ({ phase, podIP, podIPs, conditions }) => given({ phase, podIP, podIPs, conditions })),
    }),
  };
}

function portsOf(containers: unknown): unknown {
  return Array.isArray(containers) ? containers.map((each) => mapPart(each, ({ ports }) => given({ ports }))) : containers;
}

/** What is no mapping stays, for the parser to complain of. */
function mapPart(value: unknown, part: (fields: Readonly<Record<string, unknown>>) => unknown): unknown {
  return isMapping(value) ? part(value) : value;
}

function given<T extends Readonly<Record<string, unknown>>>(fields: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function podAddresses(status: Fields): readonly string[] {
  const all = status.objects('podIPs').map((entry) => entry.text('ip') ?? '');
  const single = status.text('podIP') ?? '';
  const given = (all.length > 0 ? all : [single]).filter((address) => address !== '');
  return status.addresses(all.length > 0 ? 'podIPs' : 'podIP', given);
}

function containerPorts(container: Fields): readonly ContainerPort[] {
  return container.objects('ports').flatMap((port) => {
    const number = port.port('containerPort');
    return number === undefined ? [] : [{ name: port.text('name') ?? '', number }];
  });
}

function stateOf(metadata: Fields, status: Fields): Workload['state'] {
  const phase = status.text('phase');
  if (phase === 'Succeeded' || phase === 'Failed') return 'ended';
  return metadata.has('deletionTimestamp') ? 'deleting' : 'live';
}
