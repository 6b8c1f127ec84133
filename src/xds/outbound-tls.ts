import { TrafficDirection } from '#gen/envoy/config/core/v3/base.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { FilterChain } from '#gen/envoy/config/listener/v3/listener_components.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Service } from '../model/service.ts';
import { wildcard } from './address.ts';
import { tcpReports } from './filters/report.ts';
import { tcpProxy } from './filters/tcp-proxy.ts';
import { tlsInspector } from './filters/tls-inspector.ts';
import { FIRST_BYTES } from './inbound-chains.ts';
import { outboundSide } from './mixs.ts';
import { BLACK_HOLE, outboundCluster, PASSTHROUGH } from './names.ts';
import type { OutboundVariant } from './outbound-listener.ts';

/** A host outside the mesh that callers speak TLS to themselves, told by the server name that they ask for (RFC 6066, section 3). */
export interface TlsService {
  readonly service: Service;
  readonly serverNames: readonly string[];
}

/** What a caller may take an external service's name for. */
export function serverNamesOf({ name, namespace, hostname, externalName }: Service): readonly string[] {
  return [hostname, `${name}.${namespace}.svc`, `${name}.${namespace}`, ...(externalName === undefined ? [] : [externalName])];
}

/** Serves every external TLS service of one port number; what asks for another name goes where unclaimed connections go. */
export function buildTlsListener(
  mesh: MeshConfig,
  { families, reports: isReporting }: OutboundVariant,
  port: number,
  services: readonly TlsService[],
): Listener {
  const reports = tcpReports(mesh, outboundSide(isReporting));
  const unclaimed = mesh.outboundTrafficPolicy === 'ALLOW_ANY' ? PASSTHROUGH : BLACK_HOLE;
  return Listener.fromPartial({
    name: `0.0.0.0_${port}`,
    ...wildcard(families, port),
    bindToPort: false,
    trafficDirection: TrafficDirection.OUTBOUND,
    listenerFilters: [tlsInspector([])],
    listenerFiltersTimeout: FIRST_BYTES,
    continueOnListenerFiltersTimeout: true,
    filterChains: services.map(({ service, serverNames }) =>
      FilterChain.fromPartial({
        name: service.hostname,
        filterChainMatch: { transportProtocol: 'tls', serverNames: [...serverNames] },
        filters: [tcpProxy(mesh, `outbound_${port}_${service.hostname}`, outboundCluster(service, port), { reports })],
      }),
    ),
    defaultFilterChain: { name: 'unclaimed', filters: [tcpProxy(mesh, `outbound_${port}_unclaimed`, unclaimed, { reports })] },
  });
}
