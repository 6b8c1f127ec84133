import { expect } from 'chai';
import type { EndpointCondition, EndpointSlice } from '../../../src/model/endpoint-slice.ts';
import { mergeServices, type RemoteCluster } from '../../../src/model/remote-cluster.ts';
import { nextSnapshot, type Snapshot } from '../../../src/model/snapshot.ts';
import { makeInputs, makePolicy, makeService, makeSlice, makeWorkload } from '../../fakes/model.ts';

describe('nextSnapshot', () => {
  const httpbin = makeService({ name: 'httpbin' });
  const other = makeService({ name: 'other', addresses: ['10.96.0.2'] });
  const pod = makeWorkload({ name: 'httpbin-1' });
  const slice = makeSlice('httpbin', ['10.244.0.5']);
  const inputs = makeInputs({ services: [other, httpbin], workloads: [pod], endpointSlices: [slice], policies: [makePolicy()] });

  it('indexes services, endpoints and workloads', () => {
    const snapshot = nextSnapshot(undefined, inputs);
    expect(snapshot.services).to.deep.equal([httpbin, other]);
    expect(snapshot.servicesByWorkload.get('foo/httpbin-1')).to.deep.equal([httpbin]);
    expect(snapshot.workloadsByService.get(httpbin.hostname)).to.deep.equal([pod]);
    expect(snapshot.endpoints.get(httpbin.hostname)?.[0]?.endpoints[0]?.workload).to.equal(pod);
    expect(snapshot.endpoints.get(other.hostname)).to.deep.equal([]);
  });

  it('keeps the identity of all that did not change', () => {
    const first = nextSnapshot(undefined, inputs);
    const second = nextSnapshot(first, {
      ...inputs,
      endpointSlices: [...inputs.endpointSlices, makeSlice('other', ['10.0.0.9'])],
    });
    expect(second.services).to.equal(first.services);
    expect(second.servicesByHostname).to.equal(first.servicesByHostname);
    expect(second.policies).to.equal(first.policies);
    expect(second.servicesByWorkload).to.equal(first.servicesByWorkload);
    expect(second.endpoints).to.not.equal(first.endpoints);
    expect(second.endpoints.get(httpbin.hostname)).to.equal(first.endpoints.get(httpbin.hostname));
    expect(second.endpoints.get(other.hostname)).to.not.equal(first.endpoints.get(other.hostname));
  });

  it('resolves endpoints anew when the pod behind them changed', () => {
    const first = nextSnapshot(undefined, inputs);
    const injected = { ...pod, hasSidecar: false };
    const second = nextSnapshot(first, { ...inputs, workloads: [injected] });
    expect(second.endpoints.get(httpbin.hostname)?.[0]?.endpoints[0]?.workload).to.equal(injected);
  });

  it('takes the pod that a slice names before one that once had the address', () => {
    const named = makeSlice('httpbin', [], { endpoints: [{ address: '10.244.0.5', condition: 'ready', pod: 'foo/httpbin-2' }] });
    const successor = makeWorkload({ name: 'httpbin-2', addresses: [] });
    const snapshot = nextSnapshot(undefined, { ...inputs, workloads: [pod, successor], endpointSlices: [named] });
    expect(snapshot.endpoints.get(httpbin.hostname)?.[0]?.endpoints[0]?.workload).to.equal(successor);
  });

  it('forgets pods that ended: their address may be another pod’s by now', () => {
    const ended = makeWorkload({ name: 'job-1', state: 'ended' });
    const snapshot = nextSnapshot(undefined, { ...inputs, workloads: [ended, pod] });
    expect(snapshot.workloads).to.deep.equal([pod]);
  });

  it('finds the workloads of a service without a selector by its endpoints', () => {
    const bare = makeService({ name: 'bare', selector: undefined });
    const snapshot = nextSnapshot(undefined, {
      ...inputs,
      services: [httpbin, bare],
      endpointSlices: [slice, makeSlice('bare', ['10.244.0.5'])],
    });
    expect(snapshot.servicesByWorkload.get('foo/httpbin-1')).to.deep.equal([bare, httpbin]);
  });

  describe('of endpoints', () => {
    const endpointsOf = (snapshot: Snapshot) => snapshot.endpoints.get(httpbin.hostname)?.flatMap(({ endpoints }) => endpoints);
    const used = (snapshot: Snapshot) => endpointsOf(snapshot)?.flatMap(({ ready, address }) => (ready ? [address] : []));
    const at = (name: string, address: string, condition: EndpointCondition, more: object = {}): EndpointSlice =>
      makeSlice('httpbin', [], { name, endpoints: [{ address, condition, pod: undefined, ...more }] });

    it('uses those on their way out while no slice has a ready one', () => {
      const draining = at('a', '10.0.0.1', 'draining');
      const other = at('b', '10.0.0.2', 'unready');
      const first = nextSnapshot(undefined, { ...inputs, endpointSlices: [draining, other] });
      expect(used(first)).to.deep.equal(['10.0.0.1']);
      const second = nextSnapshot(first, { ...inputs, endpointSlices: [draining, at('b', '10.0.0.2', 'ready')] });
      expect(used(second)).to.deep.equal(['10.0.0.2']);
      const third = nextSnapshot(second, { ...inputs, endpointSlices: [draining, other] });
      expect(used(third)).to.deep.equal(['10.0.0.1']);
    });

    it('knows where they are: what the slice says counts before the node', () => {
      const slices = [at('a', '10.0.0.1', 'ready', { node: 'n1' }), at('b', '10.0.0.2', 'ready', { node: 'n1', zone: 'other' })];
      const node = { name: 'n1', region: 'east', zone: 'east-a' };
      const first = nextSnapshot(undefined, { ...inputs, endpointSlices: slices, nodes: [node] });
      expect(endpointsOf(first)?.map(({ locality }) => locality)).to.deep.equal(['east/east-a', 'east/other']);
      const same = nextSnapshot(first, { ...inputs, endpointSlices: slices, nodes: [{ ...node }] });
      expect(same.endpoints, 'nothing that matters changed').to.equal(first.endpoints);
      const moved = nextSnapshot(first, { ...inputs, endpointSlices: slices, nodes: [{ ...node, region: 'west' }] });
      expect(endpointsOf(moved)?.map(({ locality }) => locality)).to.deep.equal(['west/east-a', 'west/other']);
      expect(endpointsOf(nextSnapshot(first, inputs))?.map(({ locality }) => locality)).to.deep.equal(['']);
    });

    it('are none for an external name', () => {
      const service = { ...httpbin, addresses: [], selector: undefined, externalName: 'example.com' };
      expect(endpointsOf(nextSnapshot(undefined, { ...inputs, services: [service] }))).to.equal(undefined);
    });
  });

  describe('of several clusters', () => {
    const twin = makeWorkload({ name: 'httpbin-1', addresses: ['10.8.0.1'], serviceAccount: 'theirs' });
    const theirs = {
      ...makeSlice('httpbin', [], { cluster: 'west' }),
      endpoints: [{ address: '10.8.0.1', condition: 'ready' as const, pod: 'foo/httpbin-1', node: 'n1' }],
    };
    const west = (more: Partial<RemoteCluster> = {}): RemoteCluster => ({
      name: 'west',
      services: [makeService({ name: 'httpbin', addresses: ['172.16.0.9'], selector: undefined })],
      endpointSlices: [theirs],
      workloads: [twin],
      nodes: [{ name: 'n1', region: 'west', zone: 'w1' }],
      ...more,
    });

    it('puts the endpoints of all behind one service', () => {
      const snapshot = nextSnapshot(undefined, { ...inputs, remotes: [west()] });
      expect(snapshot.services, 'as our own cluster has them').to.deep.equal([httpbin, other]);
      const found = snapshot.endpoints.get(httpbin.hostname)?.flatMap(({ endpoints }) => endpoints);
      expect(found).to.deep.equal([
        { address: '10.244.0.5', ready: true, workload: pod, locality: '' },
        { address: '10.8.0.1', ready: true, workload: twin, locality: 'west/w1' },
      ]);
    });

    it('does not take a pod of another cluster for our own of the same name', () => {
      const bare = makeService({ name: 'bare', selector: undefined });
      const slice = { ...theirs, serviceName: 'bare' };
      const snapshot = nextSnapshot(undefined, {
        ...inputs,
        services: [bare],
        endpointSlices: [],
        remotes: [west({ endpointSlices: [slice] })],
      });
      expect(snapshot.servicesByWorkload.get('foo/httpbin-1')).to.deep.equal([]);
      expect(snapshot.workloads).to.deep.equal([pod]);
    });

    it('has the services that only another has, unless their addresses are taken', () => {
      const only = makeService({ name: 'only', addresses: ['172.16.0.1'] });
      const taken = makeService({ name: 'taken', addresses: ['10.96.0.2'] });
      const remotes = [west({ services: [only, taken] })];
      expect(nextSnapshot(undefined, { ...inputs, remotes }).services).to.deep.equal([httpbin, only, other]);
      expect(mergeServices(inputs.services, remotes).leftOut.map(({ message }) => message)).to.deep.equal([
        'only cluster west has it, at the address 10.96.0.2 of other.foo.svc.cluster.local; create a Service of this name here too',
      ]);
    });

    it('keeps the identity of all that did not change', () => {
      const remotes = [west()];
      const first = nextSnapshot(undefined, { ...inputs, remotes });
      const second = nextSnapshot(first, { ...inputs, remotes: [west()] });
      expect(second.services).to.equal(first.services);
      expect(second.endpoints).to.equal(first.endpoints);
      const without = nextSnapshot(second, inputs);
      expect(without.endpoints.get(httpbin.hostname)?.flatMap(({ endpoints }) => endpoints)).to.have.length(1);
    });
  });

  it('orders the policies of a namespace by age, then name', () => {
    const young = makePolicy({ name: 'a', creationTimestamp: '2026-01-02T00:00:00Z' });
    const old = makePolicy({ name: 'b', creationTimestamp: '2026-01-01T00:00:00Z' });
    const twin = makePolicy({ name: 'c', creationTimestamp: '2026-01-01T00:00:00Z' });
    const snapshot = nextSnapshot(undefined, { ...inputs, policies: [young, twin, old] });
    expect(snapshot.policies.namespaces.get('foo')).to.deep.equal([old, twin, young]);
  });
});
