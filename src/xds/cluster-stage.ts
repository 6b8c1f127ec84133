import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import { compareText } from '../model/identity.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import { isProxied } from '../model/protocol.ts';
import type { Service, ServicePort } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { resolveTargetPort, type Workload } from '../model/workload.ts';
import { buildExternalCluster, buildFixedClusters, buildInboundCluster, buildOutboundCluster } from './cluster.ts';
import type { Encoder } from './encoder.ts';
import type { EncodedResource, ResourceSet } from './resource.ts';

interface CachedService {
  readonly mesh: MeshConfig;
  readonly identities: string;
  readonly resources: readonly EncodedResource[];
}

/**
 * The clusters, the same for every proxy: those of the services, and one for each port that any workload serves. A proxy
 * uses of the latter only its own; for that, one set is built, kept and sent for all of them.
 */
export function createClusterStage(encoder: Encoder): (snapshot: Snapshot) => ResourceSet {
  const byService = new WeakMap<Service, CachedService>();
  let last: ResourceSet | undefined;

  const encode = (cluster: Cluster): EncodedResource =>
    encoder.resource(cluster.name, Cluster.encode(cluster).finish(), last?.resources.get(cluster.name));

  const ofService = (snapshot: Snapshot, service: Service): readonly EncodedResource[] => {
    const identities = serverIdentities(snapshot, service);
    const key = identities.join(' ');
    const cached = byService.get(service);
    if (cached?.mesh === snapshot.mesh && cached.identities === key) return cached.resources;
    const ports = distinctPorts(service);
    const { externalName } = service;
    const build = (port: ServicePort): Cluster =>
      externalName === undefined
        ? buildOutboundCluster(snapshot.mesh, service, port, identities)
        : buildExternalCluster(snapshot.mesh, service, port, externalName);
    const resources = ports.map((port) => encode(build(port)));
    byService.set(service, { mesh: snapshot.mesh, identities: key, resources });
    return resources;
  };

  return (snapshot) => {
    const fixed = buildFixedClusters(snapshot.mesh).map(encode);
    const inbound = inboundPorts(snapshot).map((port) => encode(buildInboundCluster(snapshot.mesh, port)));
    const outbound = snapshot.services.flatMap((service) => ofService(snapshot, service));
    last = encoder.set([...fixed, ...inbound, ...outbound], last);
    return last;
  };
}

/** The proxied ports of a service; of ports with one number, which differ in transport, the first. */
export function distinctPorts(service: Service) {
  const proxied = service.ports.filter((port) => isProxied(port.protocol));
  return proxied.filter((port, index) => proxied.findIndex(({ number }) => number === port.number) === index);
}

/** SPIFFE ids of the workloads with a sidecar that serve a service: whom a client may meet there. Sorted. */
function serverIdentities(snapshot: Snapshot, service: Service): readonly string[] {
  const workloads = new Set<Workload>(snapshot.workloadsByService.get(service.hostname));
  for (const group of snapshot.endpoints.get(service.hostname) ?? []) {
    for (const { workload } of group.endpoints) if (workload !== undefined) workloads.add(workload);
  }
  const identities = new Set<string>();
  for (const { hasSidecar, namespace, serviceAccount } of workloads) {
    if (hasSidecar) identities.add(formatSpiffeId({ trustDomain: snapshot.mesh.trustDomain, namespace, serviceAccount }));
  }
  return [...identities].sort(compareText);
}

/** Every workload port that a service sends traffic to. */
function inboundPorts(snapshot: Snapshot): readonly number[] {
  const ports = new Set<number>();
  for (const service of snapshot.services) {
    if (service.externalName !== undefined) continue;
    for (const { targetPort, protocol } of service.ports) {
      if (!isProxied(protocol)) continue;
      if (typeof targetPort === 'number') ports.add(targetPort);
      else for (const number of namedPorts(snapshot, service, targetPort)) ports.add(number);
    }
    if (service.selector !== undefined) continue;
    for (const { slice } of snapshot.endpoints.get(service.hostname) ?? [])
      for (const { number } of slice.ports) ports.add(number);
  }
  return [...ports].sort((a, b) => a - b);
}

function namedPorts(snapshot: Snapshot, service: Service, name: string): readonly number[] {
  const workloads = snapshot.workloadsByService.get(service.hostname) ?? [];
  return workloads.map((workload) => resolveTargetPort(name, workload)).filter((port) => port !== undefined);
}
