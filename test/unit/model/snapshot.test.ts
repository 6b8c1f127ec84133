import { expect } from 'chai';
import { nextSnapshot } from '../../../src/model/snapshot.ts';
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
    const named = makeSlice('httpbin', [], { endpoints: [{ address: '10.244.0.5', ready: true, pod: 'foo/httpbin-2' }] });
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

  it('orders the policies of a namespace by age, then name', () => {
    const young = makePolicy({ name: 'a', creationTimestamp: '2026-01-02T00:00:00Z' });
    const old = makePolicy({ name: 'b', creationTimestamp: '2026-01-01T00:00:00Z' });
    const twin = makePolicy({ name: 'c', creationTimestamp: '2026-01-01T00:00:00Z' });
    const snapshot = nextSnapshot(undefined, { ...inputs, policies: [young, twin, old] });
    expect(snapshot.policies.namespaces.get('foo')).to.deep.equal([old, twin, young]);
  });
});
