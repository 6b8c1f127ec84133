import { resolveTargetPort } from '../../../model/workload.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';

/** MESH403: a service port leads to a container port by a name that no pod has. */
export function targetPorts({ snapshot }: MeshState): readonly Finding[] {
  return snapshot.services.flatMap(({ namespace, name, hostname, selector, ports }) => {
    const pods = selector === undefined ? [] : (snapshot.workloadsByService.get(hostname) ?? []);
    if (pods.length === 0) return [];
    return ports
      .filter(({ targetPort }) => pods.every((pod) => resolveTargetPort(targetPort, pod) === undefined))
      .map(
        ({ number, targetPort }): Finding => ({
          code: 'MESH403',
          subject: { kind: 'Service', namespace, name },
          message: `port ${number} leads to the container port "${targetPort}", which none of its pods has`,
        }),
      );
  });
}
