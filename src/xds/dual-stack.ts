import { familyOf } from '../model/address.ts';
import type { Endpoint } from '../model/endpoints.ts';
import type { Service } from '../model/service.ts';
import type { Workload } from '../model/workload.ts';

export interface PortEndpoint {
  readonly endpoint: Endpoint;
  readonly port: number;
}

export interface ReachedEndpoint extends PortEndpoint {
  /** Further addresses of the same pod, for callers that the first does not answer (RFC 8305). */
  readonly further: readonly string[];
}

/**
 * The addresses that a pod has in several families as one endpoint, so that it gets no more than its share, and a caller with one
 * family gets there too. The family that the service names first comes first.
 */
export function joinFamilies(service: Service, endpoints: readonly PortEndpoint[]): readonly ReachedEndpoint[] {
  const preferred = familyOf(service.addresses[0] ?? '');
  const pods = new Map<Workload | PortEndpoint, Map<number, PortEndpoint[]>>();
  for (const reached of endpoints) {
    const owner = reached.endpoint.workload ?? reached;
    const ports = pods.get(owner) ?? new Map<number, PortEndpoint[]>();
    pods.set(owner, ports.set(reached.port, [...(ports.get(reached.port) ?? []), reached]));
  }
  const rank = ({ endpoint }: PortEndpoint): number => (familyOf(endpoint.address) === preferred ? 0 : 1);
  return [...pods.values()].flatMap((ports) =>
    [...ports.values()].flatMap((ofPod) => join(ofPod.sort((a, b) => rank(a) - rank(b)))),
  );
}

function join([first, ...rest]: readonly PortEndpoint[]): readonly ReachedEndpoint[] {
  return first === undefined ? [] : [{ ...first, further: rest.map(({ endpoint }) => endpoint.address) }];
}
