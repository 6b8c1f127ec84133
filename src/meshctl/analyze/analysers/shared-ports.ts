import { isHttp, isProxied } from '../../../model/protocol.ts';
import { describeService, type Service } from '../../../model/service.ts';
import { resolveTargetPort, type Workload, workloadKey } from '../../../model/workload.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';

/** MESH405: two services lead to one port of a pod, one of them with requests and the other one with raw TCP. */
export function sharedPorts({ snapshot }: MeshState): readonly Finding[] {
  const findings = new Map<string, Finding>();
  for (const workload of snapshot.workloads) {
    const services = snapshot.servicesByWorkload.get(workloadKey(workload)) ?? [];
    for (const finding of disagreements(workload, services)) findings.set(JSON.stringify(finding), finding);
  }
  return [...findings.values()];
}

function disagreements(workload: Workload, services: readonly Service[]): readonly Finding[] {
  const served = services.flatMap((service) =>
    service.ports
      .filter(({ protocol }) => isProxied(protocol))
      .map((port) => ({ service, port, target: resolveTargetPort(port.targetPort, workload) })),
  );
  return served.flatMap(({ service, port, target }, index) =>
    served
      .slice(index + 1)
      .filter((other) => other.target === target && target !== undefined && other.service !== service)
      .filter((other) => isHttp(other.port.protocol) !== isHttp(port.protocol))
      .map((other): Finding => {
        const { namespace, name } = service;
        const others = `${describeService(other.service)} says it speaks ${other.port.protocol}`;
        const message = `port ${target} of its pods speaks ${port.protocol}, but service ${others}: it is proxied as raw TCP`;
        return { code: 'MESH405', subject: { kind: 'Service', namespace, name }, message };
      }),
  );
}
