import type { MeshConfig } from '../model/mesh-config.ts';
import type { PolicyIndex } from '../model/policy-index.ts';
import type { Service, ServicePort } from '../model/service.ts';
import { claimsOn, claimsOnNamespace, type Labels } from './claims.ts';
import { type Claim, type Decision, mutualTlsOf, originRule } from './decision.ts';

/** What decisions depend on; a Snapshot is one. */
export interface PolicyContext {
  readonly mesh: MeshConfig;
  readonly policies: PolicyIndex;
}

/**
 * What a port of a service requires. The most specific policy decides whole and nothing is merged: port target, service
 * target, namespace, mesh policy, mesh configuration. Of several at one level the oldest is in force.
 */
export function resolveAuthn(context: PolicyContext, service: Service, port: ServicePort, labels: Labels): Decision {
  return decide(context, claimsOn(context.policies, service, port, labels));
}

/** What the ports of a namespace's workloads require that no service names. */
export function resolveUnnamedPorts(context: PolicyContext, namespace: string): Decision {
  return decide(context, claimsOnNamespace(context.policies, namespace));
}

function decide(context: PolicyContext, claims: readonly Claim[]): Decision {
  const [first, ...overruled] = claims;
  if (first === undefined) {
    return {
      mutualTls: context.mesh.authPolicy === 'MUTUAL_TLS' ? 'REQUIRED' : 'OPTIONAL',
      origins: { type: 'none' },
      principalBinding: 'USE_PEER',
      decidedBy: { type: 'mesh-config' },
      overruled,
    };
  }
  return {
    mutualTls: mutualTlsOf(first.policy),
    origins: originRule(first.policy),
    principalBinding: first.policy.principalBinding,
    decidedBy: { type: 'policy', ...first },
    overruled,
  };
}
