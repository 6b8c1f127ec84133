import { expect } from 'chai';
import { createMixsProblemLog } from '../../../src/pilot-discovery/mixs-problem-log.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { snapshotOfManifests } from '../../harness/mesh-input.ts';

const SERVICE = `
---
apiVersion: v1
kind: Service
metadata: {name: mesh-policy, namespace: mesh-system}
spec: {clusterIP: 10.96.0.3, selector: {app: mixs}, ports: [{name: grpc, port: 9091}]}
`;
const mesh = (lines: string): string => `
apiVersion: v1
kind: ConfigMap
metadata: {name: mesh, namespace: mesh-system}
data: {mesh: "mixerCheckServer: mesh-policy.mesh-system.svc.cluster.local:9091\\n${lines}"}
`;

describe('the log of a mixs that nobody can reach', () => {
  it('says once that the service is missing and what follows, and when it is there', () => {
    const logger = new MemoryLogger();
    const tell = createMixsProblemLog(logger);
    tell(undefined);
    for (const text of [mesh(''), mesh(''), mesh('policyCheckFailOpen: true'), mesh('') + SERVICE, mesh('') + SERVICE])
      tell(snapshotOfManifests(text));
    expect(logger.entries.map(({ level, fields }) => `${level} ${fields['problem'] ?? ''}`)).to.deep.equal([
      'warn mixerCheckServer: no service of the mesh has the host name mesh-policy.mesh-system.svc.cluster.local: every request to a sidecar is refused with 503; correct the name, create the service, or set disablePolicyChecks: true',
      'warn mixerCheckServer: no service of the mesh has the host name mesh-policy.mesh-system.svc.cluster.local: nothing is checked, as policyCheckFailOpen says; correct the name, or create the service',
      'info ',
    ]);
  });

  it('is silent where nobody would ask', () => {
    const logger = new MemoryLogger();
    createMixsProblemLog(logger)(snapshotOfManifests(mesh('disablePolicyChecks: true')));
    expect(logger.entries).to.deep.equal([]);
  });
});
