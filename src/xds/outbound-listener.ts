import { TrafficDirection } from '#gen/envoy/config/core/v3/base.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import type { Filter } from '#gen/envoy/config/listener/v3/listener_components.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import { tcpAddress, wildcard } from './address.ts';
import { httpConnectionManager } from './filters/http-connection-manager.ts';
import { httpReports, tcpReports } from './filters/report.ts';
import { ROUTER } from './filters/router.ts';
import { tcpProxy } from './filters/tcp-proxy.ts';
import { outboundSide } from './mixs.ts';
import { BLACK_HOLE, PASSTHROUGH, SUBSET_KEY } from './names.ts';
import type { Families } from './node.ts';
import { catchAllHost, routesTo } from './virtual-host.ts';

/** HTTP filters of requests that leave the workload, in order. */
const OUTBOUND_HTTP_FILTERS = [ROUTER];

export const VIRTUAL_OUTBOUND = 'virtualOutbound';

/** What tells the outbound listeners of one proxy from those of another. */
export interface OutboundVariant {
  readonly families: Families;
  /** Whether mixs is told what becomes of what the workload sends, where the mesh names one. */
  readonly reports: boolean;
}

/**
 * Receives whatever the redirection sends and hands it to the listener of the address it was going to. What no listener
 * claims goes to a black hole, or through when the mesh allows any destination.
 */
export function buildVirtualOutbound(mesh: MeshConfig, variant: OutboundVariant): Listener {
  const unclaimed = mesh.outboundTrafficPolicy === 'ALLOW_ANY' ? PASSTHROUGH : BLACK_HOLE;
  return Listener.fromPartial({
    name: VIRTUAL_OUTBOUND,
    ...wildcard(variant.families, mesh.proxyListenPort),
    useOriginalDst: true,
    trafficDirection: TrafficDirection.OUTBOUND,
    filterChains: [
      {
        // Connected to directly, the original destination is the listener itself: a loop.
        name: 'own-port',
        filterChainMatch: { destinationPort: mesh.proxyListenPort },
        filters: [tcpProxy(mesh, 'outbound_own_port', BLACK_HOLE)],
      },
      {
        name: 'unclaimed',
        filters: [tcpProxy(mesh, 'outbound_unclaimed', unclaimed, { reports: tcpReports(mesh, outboundSide(variant.reports)) })],
      },
    ],
  });
}

/** Serves every HTTP service of one port number, told apart by the Host header. */
export function buildHttpListener(mesh: MeshConfig, variant: OutboundVariant, port: number): Listener {
  const filter = httpConnectionManager(mesh, {
    statPrefix: `outbound_${port}`,
    routing: { type: 'delivered', name: String(port) },
    filters: OUTBOUND_HTTP_FILTERS,
    reports: httpReports(mesh, outboundSide(variant.reports)),
    direction: 'outbound',
    strictPaths: false,
  });
  return claimed(`0.0.0.0_${port}`, wildcard(variant.families, port), filter);
}

/** One address and port that leads to one cluster. */
export interface AddressListener {
  readonly address: string;
  readonly port: number;
  readonly http: boolean;
  readonly cluster: string;
  /** Of a headless service: only the endpoint with this very address is meant. */
  readonly pinned: boolean;
}

export const listenerName = (address: string, port: number): string => `${address}_${port}`;

export function buildAddressListener(
  mesh: MeshConfig,
  variant: Pick<OutboundVariant, 'reports'>,
  listener: AddressListener,
): Listener {
  const { address, port, cluster } = listener;
  const name = listenerName(address, port);
  const subset = listener.pinned ? { [SUBSET_KEY]: address } : undefined;
  const statPrefix = `outbound_${name}`;
  const side = outboundSide(variant.reports);
  const filter = listener.http
    ? httpConnectionManager(mesh, {
        statPrefix,
        routing: { type: 'inline', host: catchAllHost(name, routesTo(cluster, subset)) },
        filters: OUTBOUND_HTTP_FILTERS,
        reports: httpReports(mesh, side),
        direction: 'outbound',
        strictPaths: false,
      })
    : tcpProxy(mesh, statPrefix, cluster, { subset, reports: tcpReports(mesh, side) });
  return claimed(name, { address: tcpAddress(address, port), additionalAddresses: [] }, filter);
}

/** Not bound to its address: it gets its connections from the virtual listener. */
function claimed(name: string, address: ReturnType<typeof wildcard>, filter: Filter): Listener {
  return Listener.fromPartial({
    name,
    ...address,
    bindToPort: false,
    trafficDirection: TrafficDirection.OUTBOUND,
    filterChains: [{ filters: [filter] }],
  });
}
