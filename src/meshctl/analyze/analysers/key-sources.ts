import type { Snapshot } from '../../../model/snapshot.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { allPolicies, findService, policySubject } from './policies.ts';

/** MESH302, MESH303: where keys are fetched from. Fetching them is another matter (`--fetch-jwks`). */
export function keySources(state: MeshState): readonly Finding[] {
  const { snapshot } = state;
  return allPolicies(snapshot).flatMap((policy) =>
    policy.origins.flatMap(({ jwks }, index): readonly Finding[] => {
      const uri = jwks.type === 'uri' ? jwks.uri : jwks.type === 'discovery' ? jwks.issuer : undefined;
      if (uri === undefined || !URL.canParse(uri)) return [];
      const { protocol, hostname } = new URL(uri);
      const name = jwks.type === 'uri' ? 'jwksUri' : 'issuer';
      const path = `spec.origins[${index}].jwt.${name}`;
      const subject = policySubject(policy);
      const service = inClusterName(
        hostname,
        snapshot,
        state.objects.namespace.map(({ metadata }) => metadata.name),
      );
      if (service === undefined) {
        const message = `${path}: ${uri} is read over plain HTTP from outside the cluster`;
        return protocol === 'http:' ? [{ code: 'MESH302', subject, path, message }] : [];
      }
      if (!state.knows('service') || findService(snapshot, service.namespace, service.name) !== undefined) return [];
      const message = `${path}: ${hostname} is to be service ${service.name} of namespace ${service.namespace}, which does not exist`;
      return [{ code: 'MESH303', subject, path, message }];
    }),
  );
}

/** The service that a host name means inside the cluster: `jwks.auth`, `jwks.auth.svc`, `jwks.auth.svc.cluster.local`. */
function inClusterName(
  hostname: string,
  { domain, servicesByNamespace }: Snapshot,
  namespaces: readonly string[],
): { readonly name: string; readonly namespace: string } | undefined {
  const [name = '', namespace = '', ...rest] = hostname.split('.');
  const suffix = rest.join('.');
  const isService = suffix === 'svc' || suffix === `svc.${domain}`;
  const isShort = suffix === '' && (servicesByNamespace.has(namespace) || namespaces.includes(namespace));
  return isService || isShort ? { name, namespace } : undefined;
}
