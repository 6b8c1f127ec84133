import { suggestion } from '../../../lib/nearest.ts';
import type { AuthnPolicy, PolicyTarget } from '../../../model/authn-policy.ts';
import { describeService, type Service, selects } from '../../../model/service.ts';
import { selectsPort } from '../../../policy/claims.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { allPolicies, findService, policySubject } from './policies.ts';

/** MESH202, MESH203, MESH204: targets that name what there is not. */
export function policyTargets(state: MeshState): readonly Finding[] {
  if (!state.knows('service')) return [];
  return allPolicies(state.snapshot).flatMap((policy) =>
    policy.targets.flatMap((target, index) => targetFindings(state, policy, target, `spec.targets[${index}]`)),
  );
}

function targetFindings(state: MeshState, policy: AuthnPolicy, target: PolicyTarget, path: string): readonly Finding[] {
  const subject = policySubject(policy);
  const service = findService(state.snapshot, policy.namespace, target.name);
  if (service === undefined) {
    const known = (state.snapshot.servicesByNamespace.get(policy.namespace) ?? []).map(({ name }) => name);
    const hint = suggestion(target.name, known);
    const message = `${path}: there is no service ${target.name} in namespace ${policy.namespace}${hint}`;
    return [{ code: 'MESH202', subject, path: `${path}.name`, message }];
  }
  return [...portFindings(service, target, path), ...labelFindings(state, service, target, path)].map((finding) => ({
    ...finding,
    subject,
  }));
}

type Partial = Omit<Finding, 'subject'>;

function portFindings(service: Service, target: PolicyTarget, path: string): readonly Partial[] {
  return target.ports.flatMap((selector, index): readonly Partial[] => {
    if (service.ports.some((port) => selectsPort(selector, port))) return [];
    const wanted = 'number' in selector ? selector.number : selector.name;
    const ports = service.ports.map(({ name, number }) => (name === '' ? `${number}` : `${number} (${name})`)).join(', ');
    const message = `${path}: service ${describeService(service)} has no port ${wanted}; it has ${ports || 'none'}`;
    return [{ code: 'MESH203', path: `${path}.ports[${index}]`, message }];
  });
}

function labelFindings(state: MeshState, service: Service, { labels }: PolicyTarget, path: string): readonly Partial[] {
  const texts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const pods = state.snapshot.workloadsByService.get(service.hostname) ?? [];
  if (texts.length === 0 || !state.knows('pod') || pods.some((pod) => selects(labels, pod.labels))) return [];
  const message = `${path}: no pod of service ${describeService(service)} has the labels ${texts.sort().join(',')}`;
  return [{ code: 'MESH204', path: `${path}.labels`, message }];
}
