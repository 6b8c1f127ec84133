import { TrafficDirection } from '#gen/envoy/config/core/v3/base.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { type Filter, FilterChain } from '#gen/envoy/config/listener/v3/listener_components.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Requirement, WorkloadAuthn, WorkloadPort } from '../policy/workload-ports.ts';
import { wildcard } from './address.ts';
import { httpConnectionManager } from './filters/http-connection-manager.ts';
import { buildJwtAuthn } from './filters/jwt-authn.ts';
import { ORIGINAL_DST } from './filters/original-dst.ts';
import { httpPolicyCheck, tcpPolicyCheck } from './filters/policy-check.ts';
import { httpReports, tcpReports } from './filters/report.ts';
import { ROUTER } from './filters/router.ts';
import { tcpProxy } from './filters/tcp-proxy.ts';
import { tlsInspector } from './filters/tls-inspector.ts';
import { admissionChains, FIRST_BYTES } from './inbound-chains.ts';
import { type JwtPlan, planJwt } from './jwt/plan.ts';
import { checkServer, type Destination, type Destinations, type Side } from './mixs.ts';
import { BLACK_HOLE, INBOUND_PASSTHROUGH, inboundCluster, serverName } from './names.ts';
import type { Families } from './node.ts';
import { catchAllHost, directResponse, routesTo } from './virtual-host.ts';

export const VIRTUAL_INBOUND = 'virtualInbound';

/** What the inbound side of a workload is made from; `undefined` authentication: a workload not known yet, nothing is open. */
export interface InboundPlan {
  readonly authn: WorkloadAuthn | undefined;
  readonly families: Families;
  /** Whom requests are for, where mixs is to know; `undefined`: it is not asked. */
  readonly destinations: Destinations | undefined;
}

/** Receives every connection to the workload and admits those that satisfy the policy of their port; others are reset. */
export function buildInboundListener(mesh: MeshConfig, plan: InboundPlan, jwks: ReadonlyMap<string, string>): Listener {
  const { authn, families, destinations } = plan;
  const ports = (authn?.ports ?? []).filter((port) => !isOwnPort(mesh, port.number));
  return Listener.fromPartial({
    name: VIRTUAL_INBOUND,
    ...wildcard(families, mesh.proxyInboundListenPort),
    trafficDirection: TrafficDirection.INBOUND,
    listenerFilters: [ORIGINAL_DST, tlsInspector(ports.filter(isOpaque).map(({ number }) => number))],
    listenerFiltersTimeout: FIRST_BYTES,
    continueOnListenerFiltersTimeout: true,
    filterChains: [
      ...ownPorts(mesh),
      ...ports.flatMap((port) => portChains(mesh, port, jwks, destinationOf(destinations, port.number))),
      ...(authn === undefined ? [] : unnamedChains(mesh, authn.unnamed, destinationOf(destinations, undefined))),
    ],
  });
}

/**
 * Plaintext is taken, and no service says that requests are read there: nothing is known of who speaks first. Where only the mesh is admitted
 * the first bytes are read, so that whoever else comes is reset with them unread.
 */
const isOpaque = ({ spoken, mutualTls, origins }: WorkloadPort): boolean =>
  spoken === 'raw' && mutualTls === 'OPTIONAL' && !isRefused(origins);

/** Tokens travel in requests: raw TCP cannot satisfy what requires one, whatever keys there are. */
const isRefused = (origins: Requirement['origins']): boolean => planJwt(origins, new Map()).mandatory;

const isOwnPort = (mesh: MeshConfig, port: number): boolean => [mesh.proxyListenPort, mesh.proxyInboundListenPort].includes(port);

/** Passed on to the proxy's own ports, a connection would come back for ever. */
function ownPorts(mesh: MeshConfig): FilterChain[] {
  const ports = [...new Set([mesh.proxyListenPort, mesh.proxyInboundListenPort])];
  return ports.map((port) =>
    FilterChain.fromPartial({
      name: `own-port-${port}`,
      filterChainMatch: { destinationPort: port },
      filters: [tcpProxy(mesh, 'inbound_own_port', BLACK_HOLE)],
    }),
  );
}

function destinationOf(destinations: Destinations | undefined, port: number | undefined): Destination | undefined {
  if (destinations === undefined) return undefined;
  const services = port === undefined ? undefined : destinations.byPort.get(port);
  return { namespace: destinations.namespace, services: services ?? [] };
}

function portChains(
  mesh: MeshConfig,
  port: WorkloadPort,
  jwks: ReadonlyMap<string, string>,
  destination: Destination | undefined,
): FilterChain[] {
  const { number, mutualTls } = port;
  const statPrefix = `inbound_${number}`;
  const raw = rawFilters(mesh, statPrefix, inboundCluster(number), destination);
  const plan = planJwt(port.origins, jwks);
  const common = {
    name: String(number),
    mutualTls,
    arrival: isOpaque(port) ? 'opaque' : 'inspected',
    port: number,
    serverNames: port.raw.map((service) => serverName(service, service.number)),
  } as const;
  if (port.http) {
    const opaque = plan.type === 'none' ? raw : undefined;
    return admissionChains(mesh, { ...common, filters: [httpFilter(mesh, number, plan, destination)], opaque, http: true });
  }
  return isRefused(port.origins) ? [] : admissionChains(mesh, { ...common, filters: raw, opaque: raw, http: false });
}

const inboundSide = (destination: Destination | undefined): Side | undefined =>
  destination === undefined ? undefined : { type: 'inbound', destination };

/** HTTP filters of requests that reach the workload, in order. */
const inboundHttpFilters = (mesh: MeshConfig, plan: JwtPlan, destination: Destination | undefined) => [
  ...(plan.type === 'checked' ? [buildJwtAuthn(plan)] : []),
  ...httpPolicyCheck(mesh, destination),
  ROUTER,
];

/** Network filters of raw TCP that reaches the workload, in order. */
const rawFilters = (mesh: MeshConfig, statPrefix: string, cluster: string, destination: Destination | undefined): Filter[] => [
  ...tcpPolicyCheck(mesh, destination, statPrefix),
  tcpProxy(mesh, statPrefix, cluster, { reports: tcpReports(mesh, inboundSide(destination)) }),
];

const REFUSED =
  'no request can satisfy the authentication policy of this port: it takes the principal from an end-user token and names no ' +
  'origin, or it has too many trigger rules. `meshctl explain` tells which policy it is\n';

function httpFilter(mesh: MeshConfig, port: number, plan: JwtPlan, destination: Destination | undefined): Filter {
  const routes = plan.type === 'refused' ? [directResponse(401, REFUSED)] : routesTo(inboundCluster(port));
  return httpConnectionManager(mesh, {
    statPrefix: `inbound_${port}`,
    routing: { type: 'inline', host: catchAllHost(`inbound|${port}`, routes) },
    filters: inboundHttpFilters(mesh, plan, destination),
    reports: httpReports(mesh, inboundSide(destination)),
    direction: 'inbound',
    // Rules of mixs may decide by the path.
    strictPaths: (plan.type === 'checked' && plan.byPath) || checkServer(mesh, destination) !== undefined,
  });
}

/** Ports that no service names; they are raw TCP, and what their namespace requires holds. */
function unnamedChains(mesh: MeshConfig, requirement: Requirement, destination: Destination | undefined): FilterChain[] {
  if (isRefused(requirement.origins)) return [];
  const raw = rawFilters(mesh, 'inbound_unnamed', INBOUND_PASSTHROUGH, destination);
  return admissionChains(mesh, {
    name: 'unnamed',
    mutualTls: requirement.mutualTls,
    arrival: 'inspected',
    filters: raw,
    opaque: raw,
    http: false,
    port: undefined,
    serverNames: [],
  });
}
