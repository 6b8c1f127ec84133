import type { EndpointSlice, SliceEndpoint, SlicePort } from './endpoint-slice.ts';
import { sameElements } from './identity.ts';
import type { Service, ServicePort } from './service.ts';
import type { Workload } from './workload.ts';

/** One address behind a service, with the workload that owns it. */
export interface Endpoint {
  readonly address: string;
  readonly ready: boolean;
  /** `undefined` for addresses outside the mesh. */
  readonly workload: Workload | undefined;
}

/** What one slice says, its pods looked up. */
export interface EndpointGroup {
  readonly slice: EndpointSlice;
  readonly endpoints: readonly Endpoint[];
}

/** Everything behind one service. */
export type ServiceEndpoints = readonly EndpointGroup[];

/** Finds the workload of an endpoint: the pod that the slice names, else whoever has the address. */
export type WorkloadLookup = (endpoint: SliceEndpoint) => Workload | undefined;

/** Resolves the slices of one service; gives back the previous groups where neither slice nor workloads changed. */
export function resolveEndpoints(
  slices: readonly EndpointSlice[],
  lookup: WorkloadLookup,
  previous: ServiceEndpoints | undefined,
): ServiceEndpoints {
  const groups = slices.map((slice, index) => {
    const before = previous?.[index];
    if (before?.slice !== slice) return resolveGroup(slice, lookup);
    const unchanged = before.endpoints.every((endpoint, at) => {
      const source = slice.endpoints[at];
      return source !== undefined && endpoint.workload === lookup(source);
    });
    return unchanged ? before : resolveGroup(slice, lookup);
  });
  return previous !== undefined && sameElements(previous, groups) ? previous : groups;
}

function resolveGroup(slice: EndpointSlice, lookup: WorkloadLookup): EndpointGroup {
  return {
    slice,
    endpoints: slice.endpoints.map((endpoint) => ({
      address: endpoint.address,
      ready: endpoint.ready,
      workload: lookup(endpoint),
    })),
  };
}

/** The port of a slice that serves a service port; a lone port serves a lone port whatever its name. */
export function slicePortFor(slice: EndpointSlice, service: Service, port: ServicePort): SlicePort | undefined {
  const named = slice.ports.find((candidate) => candidate.name === port.name);
  if (named !== undefined) return named;
  return slice.ports.length === 1 && service.ports.length === 1 ? slice.ports[0] : undefined;
}
