import { describeObject, type KubeObject } from '../../../model/object.ts';
import { isMapping } from '../../../model/parse/object.ts';
import { describeService } from '../../../model/service.ts';
import type { Finding } from '../finding.ts';

import type { MeshState } from '../mesh-state.ts';
import { ORCHESTRATOR_NAMESPACES } from './policies.ts';

/** MESH402: services that nothing stands behind. */
export function servicePods({ snapshot, objects, knows }: MeshState): readonly Finding[] {
  const external = new Set(objects.service.filter(isExternalName).map(describeObject));
  return snapshot.services.flatMap((service): readonly Finding[] => {
    const { namespace, name, selector, hostname } = service;
    if (ORCHESTRATOR_NAMESPACES.includes(namespace) || external.has(`Service ${namespace}/${name}`)) return [];
    const finding = (message: string, action: string): readonly Finding[] => [
      { code: 'MESH402', subject: { kind: 'Service', namespace, name }, message, action },
    ];
    if (selector === undefined) {
      if (!knows('endpointSlice') || (snapshot.endpoints.get(hostname) ?? []).length > 0) return [];
      return finding(
        'has neither a selector nor endpoints',
        `write an EndpointSlice for ${describeService(service)}, or give it a selector`,
      );
    }
    if (!knows('pod') || (snapshot.workloadsByService.get(hostname) ?? []).length > 0) return [];
    const labels = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
    return finding(
      `no pod of namespace ${namespace} has the labels ${labels.sort().join(',')}`,
      'correct the selector, or start the pods',
    );
  });
}

/** It stands for a host outside, which has pods or has none. */
function isExternalName({ spec }: KubeObject): boolean {
  return isMapping(spec) && spec.type === 'ExternalName';
}
