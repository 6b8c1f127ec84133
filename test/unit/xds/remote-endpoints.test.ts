import { expect } from 'chai';
import { nextSnapshot } from '../../../src/model/snapshot.ts';
import { CLUSTER_TYPE, ENDPOINT_TYPE } from '../../../src/xds/resource.ts';
import { makeInputs, makeService, makeSlice, makeWorkload } from '../../fakes/model.ts';
import { testTranslator } from '../../harness/mesh-input.ts';

const node = { id: 'sidecar~10.0.0.1~web-1.foo~foo.svc.cluster.local', cluster: 'test', metadata: {} };

describe('endpoints of a remote cluster', () => {
  const service = makeService({ name: 'httpbin' });
  const pod = makeWorkload({ name: 'httpbin-1', addresses: ['10.8.0.1'], serviceAccount: 'theirs' });
  const remote = {
    name: 'west',
    services: [],
    endpointSlices: [makeSlice('httpbin', ['10.8.0.1'], { cluster: 'west' })],
    workloads: [pod],
    nodes: [],
  };
  const snapshot = nextSnapshot(undefined, makeInputs({ services: [service], remotes: [remote] }));
  const name = 'outbound|8000||httpbin.foo.svc.cluster.local';
  const resource = (type: typeof CLUSTER_TYPE): string =>
    Buffer.from(testTranslator().resources(snapshot, node, type, 'coarse').resources.get(name)?.any ?? []).toString('latin1');

  it('are reached by mutual TLS, as who they are there', () => {
    expect(resource(ENDPOINT_TYPE)).to.include('10.8.0.1').and.include('tlsMode');
    expect(resource(CLUSTER_TYPE)).to.include('spiffe://cluster.local/ns/foo/sa/theirs');
  });
});
