/** How a sidecar reaches mixs, and which of its ports and directions do. */
import { GrpcService } from '#gen/envoy/config/core/v3/grpc_service.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import type { MeshConfig, ServerAddress } from '../model/mesh-config.ts';
import { NODE_ID_VARIABLE, REPORTER_METADATA } from '../model/reporter.ts';
import type { Service } from '../model/service.ts';
import { protoDuration } from './duration.ts';

/** Whom the requests that reach a port are for. */
export interface Destination {
  readonly namespace: string;
  /** Host names of the services that lead to the port, sorted; none of a port that no service names. */
  readonly services: readonly string[];
}

/** Of what a sidecar speaks to mixs: of what comes to a port, or of what the workload sends, whose destination each log entry tells. */
export type Side = { readonly type: 'inbound'; readonly destination: Destination } | { readonly type: 'outbound' };

/** The side of what a workload sends; `undefined` where nobody is told of it. */
export const outboundSide = (reports: boolean): Side | undefined => (reports ? { type: 'outbound' } : undefined);

/** Whom requests to a workload are for, by its ports. */
export interface Destinations {
  readonly namespace: string;
  readonly byPort: ReadonlyMap<number, readonly string[]>;
}

/** After that long without an answer mixs counts as failed. Its handlers have 5 s; a caller does not want to wait so long. */
const CHECK_TIMEOUT: Duration = seconds(2);

/** Whom to ask about what comes to a port; `undefined`: nobody. What comes to mixs itself nobody could be asked about. */
export function checkServer(mesh: MeshConfig, destination: Destination | undefined): ServerAddress | undefined {
  if (mesh.disablePolicyChecks || destination === undefined || servesMixs(mesh, destination)) return undefined;
  return mesh.mixerCheckServer;
}

/** Whom to tell what requests and connections came to; `undefined`: nobody. */
export function reportServer(mesh: MeshConfig, side: Side): ServerAddress | undefined {
  return side.type === 'inbound' && servesMixs(mesh, side.destination) ? undefined : mesh.mixerReportServer;
}

/**
 * Whether a workload's sidecar reports what the workload sends. That of mixs does not: what its handlers send to back ends would be reported, and
 * make them send more.
 */
export function reportsOutbound(mesh: MeshConfig, services: readonly Service[]): boolean {
  const isMixs = services.some(({ hostname }) => isMixsHost(mesh, hostname));
  return mesh.mixerReportServer !== undefined && !isMixs;
}

/** Whether proxies of this mesh have anything to do with mixs. */
export const usesMixs = (mesh: MeshConfig): boolean =>
  mesh.mixerReportServer !== undefined || (mesh.mixerCheckServer !== undefined && !mesh.disablePolicyChecks);

const servesMixs = (mesh: MeshConfig, { services }: Destination): boolean => services.some((host) => isMixsHost(mesh, host));

const isMixsHost = ({ mixerCheckServer, mixerReportServer }: MeshConfig, host: string): boolean =>
  host === mixerCheckServer?.host || host === mixerReportServer?.host;

/** Whether a port of a service is where mixs listens: it speaks HTTP/2 then, whatever the port is called. */
export function isMixsPort({ mixerCheckServer, mixerReportServer }: MeshConfig, host: string, port: number): boolean {
  return [mixerCheckServer, mixerReportServer].some((server) => server?.host === host && server.port === port);
}

/** A service of the mesh like any other, called by the sidecar itself; the metadata says whom the call is about. */
export function mixsService({ host, port }: ServerAddress, side: Side): GrpcService {
  return GrpcService.fromPartial({
    // By default the authority is the cluster's name, which has characters that no authority may have.
    targetSpecifier: {
      $case: 'envoyGrpc',
      envoyGrpc: { clusterName: `outbound|${port}||${host}`, authority: `${host}:${port}` },
    },
    initialMetadata: [{ key: REPORTER_METADATA.kind, value: side.type }, ...destinationMetadata(side)],
  });
}

function destinationMetadata(side: Side): readonly { readonly key: string; readonly value: string }[] {
  if (side.type === 'outbound') return [];
  const { namespace, services } = side.destination;
  return [
    { key: REPORTER_METADATA.namespace, value: namespace },
    ...(services.length === 0 ? [] : [{ key: REPORTER_METADATA.services, value: services.join(',') }]),
  ];
}

/** The service to ask, with the time it has. */
export function checkService(server: ServerAddress, destination: Destination): GrpcService {
  const service = mixsService(server, { type: 'inbound', destination });
  const node = { key: REPORTER_METADATA.node, value: `%ENVIRONMENT(${NODE_ID_VARIABLE})%` };
  return GrpcService.fromPartial({
    ...service,
    timeout: protoDuration(CHECK_TIMEOUT),
    initialMetadata: [...service.initialMetadata, node],
  });
}
