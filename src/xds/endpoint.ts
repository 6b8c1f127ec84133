import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import { LbEndpoint } from '#gen/envoy/config/endpoint/v3/endpoint_components.ts';
import { type Endpoint, type ServiceEndpoints, slicePortFor } from '../model/endpoints.ts';
import { compareText } from '../model/identity.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import { isHttp } from '../model/protocol.ts';
import { isHeadless, type Service, type ServicePort } from '../model/service.ts';
import { tcpAddress } from './address.ts';
import { joinFamilies, type PortEndpoint, type ReachedEndpoint } from './dual-stack.ts';
import { groupByLocality } from './locality.ts';
import { outboundCluster, SUBSET_KEY, TLS_MODE } from './names.ts';

/**
 * The ready endpoints of one service port, sorted by address. Where raw TCP is spoken those with a sidecar are reached at its own inbound
 * port: their port takes plaintext without looking at it, for the server may be the one to speak first.
 */
export function buildLoadAssignment(
  mesh: MeshConfig,
  service: Service,
  port: ServicePort,
  endpoints: ServiceEndpoints,
): ClusterLoadAssignment {
  const reached = new Map<string, PortEndpoint>();
  for (const { endpoint, port: own } of readyEndpoints(service, port, endpoints).values()) {
    const number = hasSidecar(endpoint) && !isHttp(port.protocol) ? mesh.proxyInboundListenPort : own;
    reached.set(`${endpoint.address}_${number}`, { endpoint, port: number });
  }
  const sorted = [...reached.values()].sort((a, b) => compareText(a.endpoint.address, b.endpoint.address) || a.port - b.port);
  const placed = isHeadless(service)
    ? sorted.map((chosen) => ({ locality: chosen.endpoint.locality, endpoint: lbEndpoint({ ...chosen, further: [] }, true) }))
    : joinFamilies(service, sorted).map((pod) => ({ locality: pod.endpoint.locality, endpoint: lbEndpoint(pod, false) }));
  return ClusterLoadAssignment.fromPartial({
    clusterName: outboundCluster(service, port.number),
    endpoints: groupByLocality(placed),
  });
}

/** Ready endpoints by address and port: several slices may list one of them. */
export function readyEndpoints(
  service: Service,
  port: ServicePort,
  endpoints: ServiceEndpoints,
): ReadonlyMap<string, PortEndpoint> {
  const ready = new Map<string, PortEndpoint>();
  for (const group of endpoints) {
    const number = slicePortFor(group.slice, service, port)?.number;
    if (number === undefined) continue;
    for (const endpoint of group.endpoints) {
      if (endpoint.ready) ready.set(`${endpoint.address}_${number}`, { endpoint, port: number });
    }
  }
  return ready;
}

const hasSidecar = ({ workload }: Endpoint): boolean => workload?.hasSidecar === true;

function lbEndpoint({ endpoint, port, further }: ReachedEndpoint, headless: boolean): LbEndpoint {
  const filterMetadata = {
    ...(headless ? { 'envoy.lb': { [SUBSET_KEY]: endpoint.address } } : {}),
    ...(hasSidecar(endpoint) ? { 'envoy.transport_socket_match': { [TLS_MODE.key]: TLS_MODE.value } } : {}),
  };
  const additionalAddresses = further.map((address) => ({ address: tcpAddress(address, port) }));
  return LbEndpoint.fromPartial({
    hostIdentifier: { $case: 'endpoint', endpoint: { address: tcpAddress(endpoint.address, port), additionalAddresses } },
    ...(Object.keys(filterMetadata).length === 0 ? {} : { metadata: { filterMetadata } }),
  });
}
