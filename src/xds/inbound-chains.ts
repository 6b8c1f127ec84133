/** Filter chains that admit connections to a port of a workload, or do not. */
import { type Filter, FilterChain } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { seconds } from '../lib/duration.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Requirement } from '../policy/workload-ports.ts';
import { protoDuration } from './duration.ts';
import { MESH_ALPN } from './names.ts';
import { serverTls } from './tls.ts';

/**
 * How long a client's first bytes are waited for; then the connection counts as plaintext, or is closed where that is not taken. Ports on which
 * services say that raw TCP is spoken take plaintext without waiting. The time is the same for every workload and policy, so that a change
 * of policy replaces filter chains and not the listener.
 */
export const FIRST_BYTES = protoDuration(seconds(2));

export interface Admission {
  readonly name: string;
  readonly mutualTls: Requirement['mutualTls'];
  /** `opaque`: nobody looks at a client's first bytes, for the server may be the one to speak first, and none are asked for. */
  readonly arrival: 'inspected' | 'opaque';
  /** Filters behind the admission, for mesh mutual TLS and for plaintext alike. */
  readonly filters: readonly Filter[];
  readonly http: boolean;
  /** For an application's own TLS, which nothing can be checked in; `undefined`: not admitted. Of no account where nobody looks. */
  readonly opaque: readonly Filter[] | undefined;
  /** `undefined`: every port that has no chain of its own. */
  readonly port: number | undefined;
  /** Of mesh clients that come by the proxy's own inbound port. */
  readonly serverNames: readonly string[];
}

/** The chains that admit connections to a port: at the port itself, and by the proxy's own where the mesh comes that way. */
export function admissionChains(mesh: MeshConfig, admission: Admission): FilterChain[] {
  const { name, serverNames } = admission;
  const own = admission.arrival === 'opaque' ? [opaqueChain(admission)] : inspectedChains(mesh, admission);
  if (serverNames.length === 0) return own;
  const filterChainMatch = {
    destinationPort: mesh.proxyInboundListenPort,
    serverNames: [...serverNames],
    transportProtocol: 'tls',
    applicationProtocols: [MESH_ALPN],
  };
  return [...own, FilterChain.fromPartial({ ...secured(mesh, admission), name: `${name}-by-name`, filterChainMatch })];
}

/**
 * Mutual TLS required: only the mesh's, and the lack of any other chain resets the rest. Else plaintext too, and an application's own TLS, which
 * the mesh's ALPN tells apart, is passed through.
 */
function inspectedChains(mesh: MeshConfig, admission: Admission): FilterChain[] {
  const { name, filters, opaque, port: destinationPort } = admission;
  const secure = FilterChain.fromPartial({
    ...secured(mesh, admission),
    name: `${name}-mesh`,
    filterChainMatch: { destinationPort, transportProtocol: 'tls', applicationProtocols: [MESH_ALPN] },
  });
  if (admission.mutualTls === 'REQUIRED') return [secure];
  const plaintext = FilterChain.fromPartial({
    name: `${name}-plaintext`,
    filterChainMatch: { destinationPort, transportProtocol: 'raw_buffer' },
    filters: [...filters],
  });
  if (opaque === undefined) return [secure, plaintext];
  const passedThrough = FilterChain.fromPartial({
    name: `${name}-tls`,
    filterChainMatch: { destinationPort, transportProtocol: 'tls' },
    filters: [...opaque],
  });
  return [secure, plaintext, passedThrough];
}

/** Whatever comes goes to the application as it comes. */
function opaqueChain({ name, filters, port: destinationPort }: Admission): FilterChain {
  return FilterChain.fromPartial({ name: `${name}-any`, filterChainMatch: { destinationPort }, filters: [...filters] });
}

const secured = (mesh: MeshConfig, { filters, http }: Admission) => ({
  transportSocket: serverTls(mesh.trustDomain, http),
  filters: [...filters],
});
