import type { MeshConfig, ServerAddress } from '../model/mesh-config.ts';
import type { Snapshot } from '../model/snapshot.ts';

export interface MixsProblem {
  /** Key of the mesh configuration. */
  readonly path: 'mixerCheckServer' | 'mixerReportServer';
  readonly message: string;
}

/** Servers that the mesh configuration names and no sidecar can reach: all that is to be checked is refused then, unless it says otherwise. */
export function mixsProblems({
  mesh,
  servicesByHostname,
}: Pick<Snapshot, 'mesh' | 'servicesByHostname'>): readonly MixsProblem[] {
  const missing = (server: ServerAddress | undefined): string | undefined => {
    if (server === undefined) return undefined;
    const service = servicesByHostname.get(server.host);
    if (service === undefined) return `no service of the mesh has the host name ${server.host}`;
    if (service.ports.some(({ number }) => number === server.port)) return undefined;
    const ports = service.ports.map(({ number }) => number).sort((a, b) => a - b);
    return `${server.host} has no port ${server.port}, but ${ports.join(', ') || 'none'}`;
  };
  const check = mesh.disablePolicyChecks ? undefined : missing(mesh.mixerCheckServer);
  const report = missing(mesh.mixerReportServer);
  return [
    ...(check === undefined ? [] : [{ path: 'mixerCheckServer' as const, message: `${check}: ${checkConsequence(mesh)}` }]),
    ...(report === undefined
      ? []
      : [
          {
            path: 'mixerReportServer' as const,
            message: `${report}: nothing is reported; correct the name, or create the service`,
          },
        ]),
  ];
}

const checkConsequence = ({ policyCheckFailOpen }: MeshConfig): string =>
  policyCheckFailOpen
    ? 'nothing is checked, as policyCheckFailOpen says; correct the name, or create the service'
    : 'every request to a sidecar is refused with 503; correct the name, create the service, or set disablePolicyChecks: true';
