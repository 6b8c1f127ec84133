import type { Parsed, Problem } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { KubeObject, ObjectMeta } from '../object.ts';
import type { ContainerPort, Workload } from '../workload.ts';
import { checkDnsLabel, checkDnsSubdomain } from './dns.ts';
import { Fields } from './fields.ts';
import { isMapping } from './object.ts';

type Mapping = Readonly<Record<string, unknown>>;

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
  const { apiVersion, kind, metadata, spec, status } = object;
  return {
    apiVersion,
    kind,
    metadata: metadataPart(metadata, names),
    // What is no mapping stays, for the parser to complain of.
    spec: isMapping(spec) ? specPart(spec) : spec,
    status: isMapping(status) ? statusPart(status) : status,
  };
}

function metadataPart(metadata: ObjectMeta, { statusAnnotation }: Names): ObjectMeta {
  const { name, namespace, labels, annotations, resourceVersion, deletionTimestamp } = metadata;
  const part: { -readonly [field in keyof ObjectMeta]: ObjectMeta[field] } = { name };
  if (namespace !== undefined) part.namespace = namespace;
  if (labels !== undefined) part.labels = labels;
  if (resourceVersion !== undefined) part.resourceVersion = resourceVersion;
  if (deletionTimestamp !== undefined) part.deletionTimestamp = deletionTimestamp;
  const sidecar = annotations?.[statusAnnotation];
  if (sidecar !== undefined) part.annotations = { [statusAnnotation]: sidecar };
  return part;
}

function specPart({ hostNetwork, serviceAccountName, initContainers, containers }: Mapping): Mapping {
  return { hostNetwork, serviceAccountName, initContainers: portsOf(initContainers), containers: portsOf(containers) };
}

function portsOf(containers: unknown): unknown {
  if (!Array.isArray(containers)) return containers;
  return containers.map((container: unknown) => (isMapping(container) ? { ports: container['ports'] } : container));
}

function statusPart({ phase, podIP, podIPs, conditions }: Mapping): Mapping {
  return { phase, podIP, podIPs, conditions };
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
