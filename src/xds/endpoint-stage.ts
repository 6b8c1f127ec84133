import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import type { ServiceEndpoints } from '../model/endpoints.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { distinctPorts } from './cluster-stage.ts';
import type { Encoder } from './encoder.ts';
import { buildLoadAssignment } from './endpoint.ts';
import type { EncodedResource, ResourceSet } from './resource.ts';

interface CachedService {
  readonly mesh: MeshConfig;
  readonly endpoints: ServiceEndpoints;
  readonly resources: readonly EncodedResource[];
}

/** The endpoints of every service, the same for every proxy. */
export function createEndpointStage(encoder: Encoder): (snapshot: Snapshot) => ResourceSet {
  const byService = new WeakMap<Service, CachedService>();
  let last: ResourceSet | undefined;

  const encode = (assignment: ClusterLoadAssignment): EncodedResource => {
    const name = assignment.clusterName;
    return encoder.resource(name, ClusterLoadAssignment.encode(assignment).finish(), last?.resources.get(name));
  };

  const ofService = (mesh: MeshConfig, service: Service, endpoints: ServiceEndpoints): readonly EncodedResource[] => {
    const cached = byService.get(service);
    if (cached?.endpoints === endpoints && cached.mesh === mesh) return cached.resources;
    const resources = distinctPorts(service).map((port) => encode(buildLoadAssignment(mesh, service, port, endpoints)));
    byService.set(service, { mesh, endpoints, resources });
    return resources;
  };

  return (snapshot) => {
    const resources = snapshot.services
      .filter(hasEndpoints)
      .flatMap((service) => ofService(snapshot.mesh, service, snapshot.endpoints.get(service.hostname) ?? []));
    last = encoder.set(resources, last);
    return last;
  };
}

/** What an external name stands for is in its cluster. */
const hasEndpoints = ({ externalName }: Service): boolean => externalName === undefined;
