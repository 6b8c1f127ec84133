import type { EndpointSlice, SliceEndpoint, SlicePort } from './endpoint-slice.ts';
import { sameElements } from './identity.ts';
import type { Locality } from './locality.ts';
import type { Service, ServicePort } from './service.ts';
import type { Workload } from './workload.ts';

/** One address behind a service, with the workload that owns it. */
export interface Endpoint {
  readonly address: string;
  /** Whether it gets traffic. */
  readonly ready: boolean;
  /** `undefined` for addresses outside the mesh. */
  readonly workload: Workload | undefined;
  readonly locality: Locality;
}

/** What one slice says, its pods looked up. */
export interface EndpointGroup {
  readonly slice: EndpointSlice;
  /** Which of its endpoints get traffic. */
  readonly chosen: 'ready' | 'draining';
  readonly endpoints: readonly Endpoint[];
}

/** Everything behind one service. */
export type ServiceEndpoints = readonly EndpointGroup[];

/** What is known of an endpoint beside its slice. */
export interface EndpointLookup {
  /** The pod that the slice names, else whoever has the address. */
  workload(endpoint: SliceEndpoint, slice: EndpointSlice): Workload | undefined;
  locality(endpoint: SliceEndpoint, slice: EndpointSlice): Locality;
}

/**
 * Resolves the slices of one service; gives back the previous groups where neither slice nor workloads changed. Endpoints on their way out
 * get traffic only while no other is ready (https://kubernetes.io/docs/concepts/services-networking/service-traffic-policy/).
 */
export function resolveEndpoints(
  slices: readonly EndpointSlice[],
  lookup: EndpointLookup,
  previous: ServiceEndpoints | undefined,
): ServiceEndpoints {
  const isReady = slices.some((slice) => slice.endpoints.some(({ condition }) => condition === 'ready'));
  const chosen = isReady ? 'ready' : 'draining';
  const groups = slices.map((slice, index) => {
    const before = previous?.[index];
    const same = before?.slice === slice && before.chosen === chosen && isUnchanged(before, lookup);
    return same ? before : resolveGroup(slice, chosen, lookup);
  });
  return previous !== undefined && sameElements(previous, groups) ? previous : groups;
}

function isUnchanged({ slice, endpoints }: EndpointGroup, lookup: EndpointLookup): boolean {
  return endpoints.every((endpoint, index) => {
    const source = slice.endpoints[index];
    return (
      source !== undefined &&
      endpoint.workload === lookup.workload(source, slice) &&
      endpoint.locality === lookup.locality(source, slice)
    );
  });
}

function resolveGroup(slice: EndpointSlice, chosen: EndpointGroup['chosen'], lookup: EndpointLookup): EndpointGroup {
  return {
    slice,
    chosen,
    endpoints: slice.endpoints.map((endpoint) => ({
      address: endpoint.address,
      ready: endpoint.condition === chosen,
      workload: lookup.workload(endpoint, slice),
      locality: lookup.locality(endpoint, slice),
    })),
  };
}

/** The port of a slice that serves a service port; a lone port serves a lone port whatever its name. */
export function slicePortFor(slice: EndpointSlice, service: Service, port: ServicePort): SlicePort | undefined {
  const named = slice.ports.find((candidate) => candidate.name === port.name);
  if (named !== undefined) return named;
  return slice.ports.length === 1 && service.ports.length === 1 ? slice.ports[0] : undefined;
}
