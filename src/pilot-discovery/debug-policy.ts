/** Policies and what they decide, for `/debug/configz` and `/debug/authenticationz`. */
import type { AuthnPolicy } from '../model/authn-policy.ts';
import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { describeDecider } from '../policy/describe.ts';
import { resolveAuthn } from '../policy/resolve.ts';

/** The mesh configuration and every policy in force. Key sets are left out: one of symmetric keys is a secret. */
export function* configuration(snapshot: Snapshot): Generator<unknown> {
  yield { kind: 'MeshConfig', ...snapshot.mesh };
  const { mesh, namespaces } = snapshot.policies;
  for (const policy of [...mesh, ...[...namespaces.values()].flat()]) yield withoutKeys(policy);
}

function withoutKeys(policy: AuthnPolicy): unknown {
  const { scope, origins, ...rest } = policy;
  const shown = origins.map(({ jwks, ...origin }) => ({
    ...origin,
    jwks: jwks.type === 'inline' ? { type: 'inline', jwks: '[redacted]' } : jwks,
  }));
  return { kind: scope === 'mesh' ? 'MeshPolicy' : 'Policy', ...rest, origins: shown };
}

/** What each port takes and what its callers send: the rows of `authn tls-check`. */
export function* authentication(snapshot: Snapshot): Generator<unknown> {
  for (const service of snapshot.services) {
    const client = clientSide(snapshot, service);
    for (const port of service.ports) {
      const decision = resolveAuthn(snapshot, service, port, undefined);
      const server = decision.mutualTls === 'REQUIRED' ? 'mTLS' : 'HTTP/mTLS';
      yield {
        host: service.hostname,
        port: port.number,
        // Callers follow what is behind the service by themselves, so that the two sides always agree.
        status: 'OK',
        server: client === 'HTTP' ? 'HTTP' : server,
        client,
        authentication_policy_name: describeDecider(decision),
        destination_rule_name: '-',
      };
    }
  }
}

/** Callers with a sidecar use mutual TLS to every endpoint that has one. */
function clientSide(snapshot: Snapshot, service: Service): 'mTLS' | 'HTTP' | 'HTTP/mTLS' | '-' {
  const all = (snapshot.endpoints.get(service.hostname) ?? []).flatMap((group) => group.endpoints);
  const secured = all.filter((endpoint) => endpoint.workload?.hasSidecar === true).length;
  if (all.length === 0) return '-';
  if (secured === 0) return 'HTTP';
  return secured === all.length ? 'mTLS' : 'HTTP/mTLS';
}
