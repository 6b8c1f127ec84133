/** How the inbound side of a sidecar reaches mixs, and which of its ports do. */
import { GrpcService } from '#gen/envoy/config/core/v3/grpc_service.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import type { MeshConfig, ServerAddress } from '../model/mesh-config.ts';
import { REPORTER_METADATA } from '../model/reporter.ts';
import { protoDuration } from './duration.ts';

/** Whom the requests that reach a port are for. */
export interface Destination {
  readonly namespace: string;
  /** Host names of the services that lead to the port, sorted; none of a port that no service names. */
  readonly services: readonly string[];
}

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

/** Whom to tell what came to a port; `undefined`: nobody. */
export function reportServer(mesh: MeshConfig, destination: Destination | undefined): ServerAddress | undefined {
  return destination === undefined || servesMixs(mesh, destination) ? undefined : mesh.mixerReportServer;
}

/** Whether proxies of this mesh have anything to do with mixs. */
export const usesMixs = (mesh: MeshConfig): boolean =>
  mesh.mixerReportServer !== undefined || (mesh.mixerCheckServer !== undefined && !mesh.disablePolicyChecks);

function servesMixs({ mixerCheckServer, mixerReportServer }: MeshConfig, { services }: Destination): boolean {
  return services.some((host) => host === mixerCheckServer?.host || host === mixerReportServer?.host);
}

/** Whether a port of a service is where mixs listens: it speaks HTTP/2 then, whatever the port is called. */
export function isMixsPort({ mixerCheckServer, mixerReportServer }: MeshConfig, host: string, port: number): boolean {
  return [mixerCheckServer, mixerReportServer].some((server) => server?.host === host && server.port === port);
}

/** A service of the mesh like any other, called by the sidecar itself; the metadata says whom the call is about. */
export function mixsService({ host, port }: ServerAddress, destination: Destination, timeout?: Duration): GrpcService {
  const { kind, namespace, services } = REPORTER_METADATA;
  return GrpcService.fromPartial({
    // By default the authority is the cluster's name, which has characters that no authority may have.
    targetSpecifier: {
      $case: 'envoyGrpc',
      envoyGrpc: { clusterName: `outbound|${port}||${host}`, authority: `${host}:${port}` },
    },
    ...(timeout === undefined ? {} : { timeout: protoDuration(timeout) }),
    initialMetadata: [
      { key: kind, value: 'inbound' },
      { key: namespace, value: destination.namespace },
      ...(destination.services.length === 0 ? [] : [{ key: services, value: destination.services.join(',') }]),
    ],
  });
}

/** The service to ask, with the time it has. */
export const checkService = (server: ServerAddress, destination: Destination): GrpcService =>
  mixsService(server, destination, CHECK_TIMEOUT);
