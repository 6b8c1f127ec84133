/** Policies and what they decide, for `/debug/configz` and `/debug/authenticationz`. */
import type { AuthnPolicy } from '../model/authn-policy.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { checkTransport } from '../policy/transport.ts';

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

/** What each port takes and what callers with a sidecar send to it: the rows of `tls-check`. */
export function* authentication(snapshot: Snapshot): Generator<unknown> {
  for (const service of snapshot.services) {
    for (const { host, port, status, server, client, policy } of checkTransport(snapshot, service, true)) {
      // Callers follow what is behind the service by themselves: no object has to tell them.
      yield { host, port, status, server, client, authentication_policy_name: policy, destination_rule_name: '-' };
    }
  }
}
