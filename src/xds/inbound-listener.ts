import { TrafficDirection } from '#gen/envoy/config/core/v3/base.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { type Filter, FilterChain } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { seconds } from '../lib/duration.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Requirement, WorkloadAuthn, WorkloadPort } from '../policy/workload-ports.ts';
import { wildcard } from './address.ts';
import { protoDuration } from './duration.ts';
import { httpConnectionManager } from './filters/http-connection-manager.ts';
import { buildJwtAuthn } from './filters/jwt-authn.ts';
import { ORIGINAL_DST } from './filters/original-dst.ts';
import { ROUTER } from './filters/router.ts';
import { tcpProxy } from './filters/tcp-proxy.ts';
import { TLS_INSPECTOR } from './filters/tls-inspector.ts';
import { type JwtPlan, planJwt } from './jwt/plan.ts';
import { BLACK_HOLE, INBOUND_PASSTHROUGH, inboundCluster, MESH_ALPN } from './names.ts';
import type { Families } from './node.ts';
import { serverTls } from './tls.ts';
import { catchAllHost, directResponse, routesTo } from './virtual-host.ts';

export const VIRTUAL_INBOUND = 'virtualInbound';

/**
 * How long the TLS inspector waits for a client's first bytes; then the connection counts as plaintext. Mesh clients speak at
 * once, and so do most others. A plaintext client of a protocol in which the server speaks first (mysql, smtp) waits this
 * long, once per connection, and only where plaintext is accepted at all. The time is the same for every workload and
 * policy, so that a change of policy replaces filter chains and never the whole listener.
 */
const FIRST_BYTES = protoDuration(seconds(2));

/** What the inbound side of a workload is made from; `undefined` authentication: a workload not known yet, nothing is open. */
export interface InboundPlan {
  readonly authn: WorkloadAuthn | undefined;
  readonly families: Families;
}

/** Receives every connection to the workload and admits those that satisfy the policy of their port; others are reset. */
export function buildInboundListener(mesh: MeshConfig, plan: InboundPlan, jwks: ReadonlyMap<string, string>): Listener {
  const { authn, families } = plan;
  const ports = authn?.ports ?? [];
  return Listener.fromPartial({
    name: VIRTUAL_INBOUND,
    ...wildcard(families, mesh.proxyInboundListenPort),
    trafficDirection: TrafficDirection.INBOUND,
    listenerFilters: [ORIGINAL_DST, TLS_INSPECTOR],
    listenerFiltersTimeout: FIRST_BYTES,
    continueOnListenerFiltersTimeout: true,
    filterChains: [
      ...ownPorts(mesh),
      ...ports.filter((port) => !isOwnPort(mesh, port.number)).flatMap((port) => portChains(mesh, port, jwks)),
      ...(authn === undefined ? [] : unnamedChains(mesh, authn.unnamed)),
    ],
  });
}

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

interface Admission {
  readonly name: string;
  readonly mutualTls: Requirement['mutualTls'];
  /** Filters behind the admission, for mesh mutual TLS and for plaintext alike. */
  readonly filter: Filter;
  readonly http: boolean;
  /** For an application's own TLS, which nothing can be checked in; `undefined`: not admitted. */
  readonly opaque: Filter | undefined;
  /** `undefined`: every port that has no chain of its own. */
  readonly port: number | undefined;
}

function portChains(mesh: MeshConfig, port: WorkloadPort, jwks: ReadonlyMap<string, string>): FilterChain[] {
  const { number } = port;
  const statPrefix = `inbound_${number}`;
  const raw = tcpProxy(mesh, statPrefix, inboundCluster(number));
  const plan = planJwt(port.origins, jwks);
  if (!port.http) {
    // Tokens travel in requests, and here are none: what requires one cannot be satisfied.
    return plan.mandatory ? [] : chains(mesh, { ...port, name: String(number), filter: raw, opaque: raw, port: number });
  }
  const filter = httpFilter(mesh, number, plan);
  const opaque = plan.type === 'none' ? raw : undefined;
  return chains(mesh, { ...port, name: String(number), filter, opaque, port: number });
}

/** HTTP filters of requests that reach the workload, in order. */
const inboundHttpFilters = (plan: JwtPlan) => [...(plan.type === 'checked' ? [buildJwtAuthn(plan)] : []), ROUTER];

const REFUSED =
  'no request can satisfy the authentication policy of this port: it takes the principal from an end-user token and names no ' +
  'origin, or it has too many trigger rules. `meshctl explain` tells which policy it is\n';

function httpFilter(mesh: MeshConfig, port: number, plan: JwtPlan): Filter {
  const routes = plan.type === 'refused' ? [directResponse(401, REFUSED)] : routesTo(inboundCluster(port));
  return httpConnectionManager(mesh, {
    statPrefix: `inbound_${port}`,
    routing: { type: 'inline', host: catchAllHost(`inbound|${port}`, routes) },
    filters: inboundHttpFilters(plan),
    direction: 'inbound',
    strictPaths: plan.type === 'checked' && plan.byPath,
  });
}

/** Ports that no service names; they are raw TCP, and what their namespace requires holds. */
function unnamedChains(mesh: MeshConfig, requirement: Requirement): FilterChain[] {
  if (planJwt(requirement.origins, new Map()).mandatory) return [];
  const raw = tcpProxy(mesh, 'inbound_unnamed', INBOUND_PASSTHROUGH);
  return chains(mesh, { ...requirement, name: 'unnamed', filter: raw, opaque: raw, http: false, port: undefined });
}

/**
 * The chains that admit connections to a port. Mutual TLS required: only the mesh's, and the lack of any other chain resets
 * the rest. Else plaintext too, and an application's own TLS, which the mesh's ALPN tells apart, is passed through.
 */
function chains(mesh: MeshConfig, admission: Admission): FilterChain[] {
  const { name, filter, opaque } = admission;
  const destinationPort = admission.port;
  const secure = FilterChain.fromPartial({
    name: `${name}-mesh`,
    filterChainMatch: { destinationPort, transportProtocol: 'tls', applicationProtocols: [MESH_ALPN] },
    transportSocket: serverTls(mesh.trustDomain, admission.http),
    filters: [filter],
  });
  if (admission.mutualTls === 'REQUIRED') return [secure];
  const plaintext = FilterChain.fromPartial({
    name: `${name}-plaintext`,
    filterChainMatch: { destinationPort, transportProtocol: 'raw_buffer' },
    filters: [filter],
  });
  if (opaque === undefined) return [secure, plaintext];
  const passedThrough = FilterChain.fromPartial({
    name: `${name}-tls`,
    filterChainMatch: { destinationPort, transportProtocol: 'tls' },
    filters: [opaque],
  });
  return [secure, plaintext, passedThrough];
}
