import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import { LbEndpoint } from '#gen/envoy/config/endpoint/v3/endpoint_components.ts';
import { type Endpoint, type ServiceEndpoints, slicePortFor } from '../model/endpoints.ts';
import { compareText } from '../model/identity.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import { isHttp } from '../model/protocol.ts';
import type { Service, ServicePort } from '../model/service.ts';
import { tcpAddress } from './address.ts';
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
  const lbEndpoints = [...reached.values()]
    .sort((a, b) => compareText(a.endpoint.address, b.endpoint.address) || a.port - b.port)
    .map(({ endpoint, port: number }) => lbEndpoint(endpoint, number, service.addresses.length === 0));
  return ClusterLoadAssignment.fromPartial({
    clusterName: outboundCluster(service, port.number),
    endpoints: lbEndpoints.length === 0 ? [] : [{ lbEndpoints }],
  });
}

export interface PortEndpoint {
  readonly endpoint: Endpoint;
  readonly port: number;
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

function lbEndpoint(endpoint: Endpoint, port: number, headless: boolean): LbEndpoint {
  const filterMetadata = {
    ...(headless ? { 'envoy.lb': { [SUBSET_KEY]: endpoint.address } } : {}),
    ...(hasSidecar(endpoint) ? { 'envoy.transport_socket_match': { [TLS_MODE.key]: TLS_MODE.value } } : {}),
  };
  return LbEndpoint.fromPartial({
    hostIdentifier: { $case: 'endpoint', endpoint: { address: tcpAddress(endpoint.address, port) } },
    ...(Object.keys(filterMetadata).length === 0 ? {} : { metadata: { filterMetadata } }),
  });
}
