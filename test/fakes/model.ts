import type { AuthnPolicy, JwtOrigin } from '../../src/model/authn-policy.ts';
import type { EndpointSlice } from '../../src/model/endpoint-slice.ts';
import { DEFAULT_MESH_CONFIG } from '../../src/model/mesh-config.ts';
import type { Service, ServicePort } from '../../src/model/service.ts';
import type { SnapshotInputs } from '../../src/model/snapshot.ts';
import type { Workload } from '../../src/model/workload.ts';

/** Typed values for tests: a whole, valid value of which a test names only what matters to it. */

export function makePort(port: Partial<ServicePort> = {}): ServicePort {
  const number = port.number ?? 8000;
  return { name: 'http', number, targetPort: number, protocol: 'http', ...port };
}

export function makeService(service: Partial<Service> & { name: string }): Service {
  const namespace = service.namespace ?? 'foo';
  return {
    namespace,
    hostname: `${service.name}.${namespace}.svc.cluster.local`,
    addresses: ['10.96.0.1'],
    selector: { app: service.name },
    ports: [makePort()],
    ...service,
  };
}

export function makeWorkload(workload: Partial<Workload> & { name: string }): Workload {
  return {
    namespace: 'foo',
    addresses: ['10.244.0.5'],
    labels: { app: workload.name.replace(/-\d+$/, '') },
    serviceAccount: workload.name.replace(/-\d+$/, ''),
    hasSidecar: true,
    ports: [],
    ready: true,
    state: 'live',
    ...workload,
  };
}

export function makeSlice(serviceName: string, addresses: readonly string[], slice: Partial<EndpointSlice> = {}): EndpointSlice {
  return {
    namespace: 'foo',
    name: `${serviceName}-1`,
    serviceName,
    ports: [{ name: 'http', number: 8000 }],
    endpoints: addresses.map((address) => ({ address, condition: 'ready' as const, pod: undefined })),
    ...slice,
  };
}

export function makePolicy(policy: Partial<AuthnPolicy> = {}): AuthnPolicy {
  return {
    scope: 'namespace',
    name: 'default',
    namespace: policy.scope === 'mesh' ? '' : 'foo',
    creationTimestamp: '2026-01-01T00:00:00Z',
    resourceVersion: '1',
    targets: [],
    mutualTls: undefined,
    peerIsOptional: false,
    origins: [],
    originIsOptional: false,
    principalBinding: 'USE_PEER',
    ...policy,
  };
}

export function makeOrigin(origin: Partial<JwtOrigin> = {}): JwtOrigin {
  return {
    issuer: 'https://issuer.example',
    audiences: [],
    jwks: { type: 'inline', jwks: '{"keys":[]}' },
    jwtHeaders: [],
    jwtParams: [],
    triggerRules: [],
    ...origin,
  };
}

export function makeInputs(inputs: Partial<SnapshotInputs> = {}): SnapshotInputs {
  return {
    mesh: DEFAULT_MESH_CONFIG,
    domain: 'cluster.local',
    services: [],
    endpointSlices: [],
    workloads: [],
    policies: [],
    jwks: new Map(),
    ...inputs,
  };
}
