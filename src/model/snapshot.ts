import type { AuthnPolicy } from './authn-policy.ts';
import type { EndpointSlice } from './endpoint-slice.ts';
import { type EndpointLookup, resolveEndpoints, type ServiceEndpoints } from './endpoints.ts';
import { compareText, groupKept, keepList, keepMap, sameElements } from './identity.ts';
import { localityOf, type Node } from './locality.ts';
import type { MeshConfig } from './mesh-config.ts';
import { indexPolicies, type PolicyIndex } from './policy-index.ts';
import { mergeServices, type RemoteCluster } from './remote-cluster.ts';
import type { Service } from './service.ts';
import { servicesByWorkload } from './service-selection.ts';
import { type Workload, workloadKey } from './workload.ts';

/** Everything the configuration is made from. Parsed objects keep their identity as long as their source did not change. */
export interface SnapshotInputs {
  readonly mesh: MeshConfig;
  /** DNS suffix of service names, such as `cluster.local`. */
  readonly domain: string;
  readonly services: readonly Service[];
  readonly endpointSlices: readonly EndpointSlice[];
  readonly workloads: readonly Workload[];
  /** Absent: nothing is known of where endpoints are. */
  readonly nodes?: readonly Node[];
  /** Clusters whose endpoints are ours too. */
  readonly remotes?: readonly RemoteCluster[];
  readonly policies: readonly AuthnPolicy[];
  /** Key set documents by `jwksKey`; absent: never fetched. */
  readonly jwks: ReadonlyMap<string, string>;
}

/** One consistent, indexed, immutable state of the mesh. What did not change since the one before keeps its identity. */
export interface Snapshot {
  readonly mesh: MeshConfig;
  readonly domain: string;
  /** Sorted by host name; of several with one host name, the first that was given. */
  readonly services: readonly Service[];
  readonly servicesByHostname: ReadonlyMap<string, Service>;
  readonly servicesByNamespace: ReadonlyMap<string, readonly Service[]>;
  /** By host name of the service. */
  readonly endpoints: ReadonlyMap<string, ServiceEndpoints>;
  readonly workloads: readonly Workload[];
  /** By `namespace/name`. */
  readonly workloadsByKey: ReadonlyMap<string, Workload>;
  /** Services that each workload serves, by `namespace/name`. */
  readonly servicesByWorkload: ReadonlyMap<string, readonly Service[]>;
  /** Workloads that serve each service, by host name. */
  readonly workloadsByService: ReadonlyMap<string, readonly Workload[]>;
  readonly policies: PolicyIndex;
  readonly jwks: ReadonlyMap<string, string>;
  /** What it was made from, to compare the next inputs with. */
  readonly inputs: SnapshotInputs;
}

/** Folds inputs into a snapshot, sharing with the previous one whatever is unchanged. */
export function nextSnapshot(previous: Snapshot | undefined, given: SnapshotInputs): Snapshot {
  const inputs = withRemotes(given);
  const services = indexServices(previous, inputs);
  const workloads = indexWorkloads(previous, inputs);
  const endpoints = indexEndpoints(previous, inputs, services.services, workloads);
  const selection = indexSelection(previous, services.services, workloads.workloads, endpoints);
  const policiesUnchanged = previous !== undefined && sameElements(previous.inputs.policies, inputs.policies);
  return {
    mesh: inputs.mesh,
    domain: inputs.domain,
    ...services,
    workloads: workloads.workloads,
    workloadsByKey: workloads.workloadsByKey,
    endpoints,
    ...selection,
    policies: policiesUnchanged ? previous.policies : indexPolicies(inputs.policies, previous?.policies),
    jwks: keepMap(previous?.jwks, inputs.jwks),
    inputs,
  };
}

/** Everything of remote clusters that is like our own beside our own. */
function withRemotes(inputs: SnapshotInputs): SnapshotInputs {
  const { remotes = [] } = inputs;
  if (remotes.length === 0) return inputs;
  const { services } = mergeServices(inputs.services, remotes);
  return {
    ...inputs,
    services,
    endpointSlices: [...inputs.endpointSlices, ...remotes.flatMap((remote) => remote.endpointSlices)],
  };
}

type ServiceIndexes = Pick<Snapshot, 'services' | 'servicesByHostname' | 'servicesByNamespace'>;

function indexServices(previous: Snapshot | undefined, inputs: SnapshotInputs): ServiceIndexes {
  if (previous !== undefined && sameElements(previous.inputs.services, inputs.services)) {
    const { services, servicesByHostname, servicesByNamespace } = previous;
    return { services, servicesByHostname, servicesByNamespace };
  }
  const byHostname = new Map<string, Service>();
  for (const service of inputs.services) {
    if (!byHostname.has(service.hostname)) byHostname.set(service.hostname, service);
  }
  const sorted = [...byHostname.values()].sort((a, b) => compareText(a.hostname, b.hostname));
  const services = keepList(previous?.services, sorted);
  return {
    services,
    servicesByHostname: keepMap(previous?.servicesByHostname, byHostname),
    servicesByNamespace: groupKept(services, (service) => service.namespace, previous?.servicesByNamespace),
  };
}

interface WorkloadIndexes extends Pick<Snapshot, 'workloads' | 'workloadsByKey'> {
  readonly byAddress: ReadonlyMap<string, Workload>;
}

function indexWorkloads(
  previous: Pick<Snapshot, 'workloads' | 'workloadsByKey'> | undefined,
  inputs: Pick<SnapshotInputs, 'workloads'>,
): WorkloadIndexes {
  const sorted = inputs.workloads
    .filter((workload) => workload.state !== 'ended')
    .sort((a, b) => compareText(a.namespace, b.namespace) || compareText(a.name, b.name));
  const workloads = keepList(previous?.workloads, sorted);
  const workloadsByKey = new Map(workloads.map((workload) => [workloadKey(workload), workload]));
  return { workloads, workloadsByKey: keepMap(previous?.workloadsByKey, workloadsByKey), byAddress: indexByAddress(workloads) };
}

/** A live pod owns its address before one that is going away. */
function indexByAddress(workloads: readonly Workload[]): ReadonlyMap<string, Workload> {
  const byAddress = new Map<string, Workload>();
  for (const workload of workloads) {
    for (const address of workload.addresses) {
      if (workload.state === 'live' || !byAddress.has(address)) byAddress.set(address, workload);
    }
  }
  return byAddress;
}

function indexEndpoints(
  previous: Snapshot | undefined,
  inputs: SnapshotInputs,
  services: readonly Service[],
  workloads: WorkloadIndexes,
): Snapshot['endpoints'] {
  const slices = groupKept(inputs.endpointSlices, (slice) => `${slice.namespace}/${slice.serviceName}`, undefined);
  const lookup = createLookup(workloads, inputs);
  const endpoints = new Map<string, ServiceEndpoints>();
  for (const service of services) {
    if (service.externalName !== undefined) continue;
    const own = slices.get(`${service.namespace}/${service.name}`) ?? [];
    const sorted = own.length < 2 ? own : [...own].sort(bySliceName);
    endpoints.set(service.hostname, resolveEndpoints(sorted, lookup, previous?.endpoints.get(service.hostname)));
  }
  return keepMap(previous?.endpoints, endpoints);
}

const bySliceName = (a: EndpointSlice, b: EndpointSlice): number =>
  compareText(a.cluster ?? '', b.cluster ?? '') || compareText(a.name, b.name);

interface ClusterIndexes extends Pick<WorkloadIndexes, 'workloadsByKey' | 'byAddress'> {
  readonly nodes: ReadonlyMap<string, Node>;
}

/** Pods, addresses and nodes mean something within their own cluster alone. */
function createLookup(workloads: WorkloadIndexes, { nodes = [], remotes = [] }: SnapshotInputs): EndpointLookup {
  const indexNodes = (all: readonly Node[]) => new Map(all.map((node) => [node.name, node]));
  const clusters = new Map<string | undefined, ClusterIndexes>([[undefined, { ...workloads, nodes: indexNodes(nodes) }]]);
  for (const remote of remotes) {
    clusters.set(remote.name, { ...indexWorkloads(undefined, remote), nodes: indexNodes(remote.nodes) });
  }
  return {
    workload({ pod, address }, { cluster }) {
      const indexes = clusters.get(cluster);
      return (pod === undefined ? undefined : indexes?.workloadsByKey.get(pod)) ?? indexes?.byAddress.get(address);
    },
    locality({ node, zone }, { cluster }) {
      return localityOf(zone, node === undefined ? undefined : clusters.get(cluster)?.nodes.get(node));
    },
  };
}

function indexSelection(
  previous: Snapshot | undefined,
  services: readonly Service[],
  workloads: readonly Workload[],
  endpoints: Snapshot['endpoints'],
): Pick<Snapshot, 'servicesByWorkload' | 'workloadsByService'> {
  const unchanged = previous?.services === services && previous.workloads === workloads;
  // Endpoints matter only to services without a selector, and to workloads, of which there may be none.
  if (unchanged && (workloads.length === 0 || previous.endpoints === endpoints)) {
    return { servicesByWorkload: previous.servicesByWorkload, workloadsByService: previous.workloadsByService };
  }
  const byWorkload = keepMap(
    previous?.servicesByWorkload,
    servicesByWorkload(workloads, services, endpoints, previous?.servicesByWorkload),
  );
  return { servicesByWorkload: byWorkload, workloadsByService: invert(workloads, byWorkload, previous?.workloadsByService) };
}

function invert(
  workloads: readonly Workload[],
  byWorkload: ReadonlyMap<string, readonly Service[]>,
  previous: Snapshot['workloadsByService'] | undefined,
): Snapshot['workloadsByService'] {
  const pairs = workloads.flatMap((workload) =>
    (byWorkload.get(workloadKey(workload)) ?? []).map((service) => ({ hostname: service.hostname, workload })),
  );
  const grouped = new Map<string, Workload[]>();
  for (const { hostname, workload } of pairs) {
    const group = grouped.get(hostname);
    if (group === undefined) grouped.set(hostname, [workload]);
    else group.push(workload);
  }
  const kept = new Map<string, readonly Workload[]>();
  for (const [hostname, group] of grouped) kept.set(hostname, keepList(previous?.get(hostname), group));
  return keepMap(previous, kept);
}
