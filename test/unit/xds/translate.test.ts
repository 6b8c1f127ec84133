import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import type { EndpointSlice } from '../../../src/model/endpoint-slice.ts';
import { nextSnapshot, type SnapshotInputs } from '../../../src/model/snapshot.ts';
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  type ResourceSet,
  ROUTE_TYPE,
  type TypeUrl,
  VIRTUAL_HOST_TYPE,
} from '../../../src/xds/resource.ts';
import type { Grain } from '../../../src/xds/translate.ts';
import { makeInputs, makePolicy, makeService, makeSlice, makeWorkload } from '../../fakes/model.ts';
import { readable } from '../../harness/envoy-messages.ts';
import { snapshotOfManifests, testTranslator } from '../../harness/mesh-input.ts';

const TYPES: readonly TypeUrl[] = [CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE, VIRTUAL_HOST_TYPE];

const node = (pod: string, namespace = 'foo', address = '10.244.0.5') => ({
  id: `sidecar~${address}~${pod}.${namespace}~${namespace}.svc.cluster.local`,
  cluster: 'test',
  metadata: {},
});

const inputs = makeInputs({
  services: [
    makeService({ name: 'httpbin', addresses: ['10.96.0.1'] }),
    makeService({ name: 'sleep', namespace: 'bar', addresses: ['10.96.0.2'] }),
  ],
  workloads: [
    makeWorkload({ name: 'httpbin-1', addresses: ['10.244.0.5'] }),
    makeWorkload({ name: 'httpbin-2', addresses: ['10.244.0.6'] }),
  ],
  endpointSlices: [makeSlice('httpbin', ['10.244.0.5', '10.244.0.6'])],
  policies: [],
});

/** Resources of both sets that are not the same object. */
function changed(before: ResourceSet, after: ResourceSet): readonly string[] {
  const names = new Set([...before.resources.keys(), ...after.resources.keys()]);
  return [...names].filter((name) => before.resources.get(name) !== after.resources.get(name)).sort();
}

/** What changes for one proxy, by type, when the inputs change. */
function changes(next: Partial<SnapshotInputs>, grain: Grain = 'coarse') {
  const translator = testTranslator();
  const first = nextSnapshot(undefined, inputs);
  const second = nextSnapshot(first, { ...inputs, ...next });
  const proxy = node('httpbin-1');
  const before = TYPES.map((typeUrl) => translator.resources(first, proxy, typeUrl, grain));
  const after = TYPES.map((typeUrl) => translator.resources(second, proxy, typeUrl, grain));
  return Object.fromEntries(
    TYPES.flatMap((typeUrl, at): [string, readonly string[]][] => {
      const [one, other] = [before[at], after[at]];
      if (one === undefined || other === undefined || one === other) return [];
      return [[typeUrl.replace(/^.*\./, ''), changed(one, other)]];
    }),
  );
}

describe('createTranslator', () => {
  it('gives the same sets for an equal snapshot, though it is another object', () => {
    expect(changes({ services: inputs.services.map((service) => ({ ...service })) })).to.deep.equal({});
  });

  it('changes one endpoint resource for one changed endpoint', () => {
    const slices: readonly EndpointSlice[] = [makeSlice('httpbin', ['10.244.0.5', '10.9.9.9'])];
    expect(changes({ endpointSlices: slices })).to.deep.equal({
      ClusterLoadAssignment: ['outbound|8000||httpbin.foo.svc.cluster.local'],
    });
  });

  it('changes a cluster, endpoints and one route table for a new service, and no listener', () => {
    const added = makeService({ name: 'added', addresses: ['10.96.0.3'] });
    const name = 'outbound|8000||added.foo.svc.cluster.local';
    expect(changes({ services: [...inputs.services, added] })).to.deep.equal({
      Cluster: [name],
      ClusterLoadAssignment: [name],
      RouteConfiguration: ['8000'],
    });
    expect(changes({ services: [...inputs.services, added] }, 'fine')).to.deep.equal({
      Cluster: [name],
      ClusterLoadAssignment: [name],
      VirtualHost: ['8000/added.foo.svc.cluster.local:8000'],
    });
  });

  it('changes only the inbound listener for a policy, and only in its namespace', () => {
    expect(changes({ policies: [makePolicy({ mutualTls: 'STRICT' })] })).to.deep.equal({ Listener: ['virtualInbound'] });
    expect(changes({ policies: [makePolicy({ mutualTls: 'STRICT', namespace: 'bar' })] })).to.deep.equal({});
  });

  it('changes nothing for a policy that requires what was required before', () => {
    expect(changes({ policies: [makePolicy({ mutualTls: 'PERMISSIVE' })] })).to.deep.equal({});
  });

  it('gives all workloads but mixs the same outbound listeners, where they report', () => {
    const manifests = readFileSync(new URL('../../golden/xds/mixs/input.yaml', import.meta.url), 'utf8');
    const snapshot = snapshotOfManifests(manifests);
    const translator = testTranslator();
    const outbound = (pod: string, namespace: string) =>
      translator.resources(snapshot, node(pod, namespace), LISTENER_TYPE, 'coarse').resources.get('0.0.0.0_8000');
    expect(outbound('httpbin-1', 'foo')).to.equal(outbound('nobody-1', 'elsewhere'));
    expect(outbound('mixs-1', 'mesh-system')).not.to.equal(outbound('httpbin-1', 'foo'));
  });

  it('gives the pods of one deployment, and proxies without a pod, the same sets', () => {
    const translator = testTranslator();
    const snapshot = nextSnapshot(undefined, inputs);
    const sets = (pod: string, namespace?: string) =>
      TYPES.map((typeUrl) => translator.resources(snapshot, node(pod, namespace), typeUrl, 'coarse'));
    for (const [one, other] of [
      [sets('httpbin-1'), sets('httpbin-2')],
      [sets('nobody-1', 'elsewhere'), sets('nobody-2', 'nowhere')],
    ] as const) {
      one.forEach((set, at) => {
        expect(set).to.equal(other[at]);
      });
    }
  });

  it('knows short names in a service’s own namespace only', () => {
    const translator = testTranslator();
    const snapshot = nextSnapshot(undefined, inputs);
    const domains = (namespace: string) => {
      const table = translator.resources(snapshot, node('any', namespace), ROUTE_TYPE, 'coarse').resources.get('8000');
      const { virtualHosts } = readable(table?.any ?? new Uint8Array()) as { virtualHosts: { domains: string[] }[] };
      return virtualHosts.flatMap((host) => host.domains).filter((domain) => !domain.includes('.') && domain !== '*');
    };
    expect([domains('foo'), domains('bar'), domains('elsewhere')]).to.deep.equal([['httpbin'], ['sleep'], []]);
  });

  it('says the same in route tables as in their virtual hosts, and leaves what is unknown with the table', () => {
    const translator = testTranslator();
    const snapshot = nextSnapshot(undefined, inputs);
    const read = (typeUrl: TypeUrl, grain: Grain) =>
      [...translator.resources(snapshot, node('any'), typeUrl, grain).resources.values()].map(({ any }) => readable(any));
    const [inline] = read(ROUTE_TYPE, 'coarse') as { name: string; virtualHosts: { name: string }[] }[];
    const [open] = read(ROUTE_TYPE, 'fine') as { name: string; vhds: unknown; virtualHosts: { name: string }[] }[];
    const hosts = read(VIRTUAL_HOST_TYPE, 'fine') as { name: string }[];
    expect(open).to.have.property('vhds').that.has.nested.property('configSource.ads');
    expect(open?.virtualHosts.map(({ name }) => name)).to.deep.equal(['block_all']);
    const joined = [...hosts.map((host) => ({ ...host, name: host.name.replace('8000/', '') })), ...(open?.virtualHosts ?? [])];
    expect(joined.map((host) => ({ ...host, '@type': undefined }))).to.deep.equal(
      inline?.virtualHosts.map((host) => ({ ...host, '@type': undefined })),
    );
    expect(read(VIRTUAL_HOST_TYPE, 'coarse')).to.deep.equal([]);
  });

  it('sorts resources by name whatever the order of the inputs', () => {
    const reversed = makeInputs({ ...inputs, services: inputs.services.toReversed(), workloads: inputs.workloads.toReversed() });
    for (const typeUrl of TYPES) {
      const one = testTranslator().resources(nextSnapshot(undefined, inputs), node('httpbin-1'), typeUrl, 'coarse');
      const other = testTranslator().resources(nextSnapshot(undefined, reversed), node('httpbin-1'), typeUrl, 'coarse');
      expect([...one.resources.keys()]).to.deep.equal([...one.resources.keys()].sort());
      expect(other.version).to.equal(one.version);
    }
  });

  it('keeps the virtual address of two services that claim one with the first, and says so', () => {
    const translator = testTranslator();
    const twin = makeService({ name: 'twin', addresses: ['10.96.0.1'] });
    const snapshot = nextSnapshot(undefined, { ...inputs, services: [...inputs.services, twin] });
    expect(translator.problems(snapshot).map(({ message }) => message)).to.deep.equal([
      'twin.foo has the cluster IP 10.96.0.1 of httpbin.foo, which keeps it; give it one of its own',
    ]);
  });

  const badIds = [
    '',
    'sidecar',
    'sidecar~x~a.b~c',
    'sidecar~10.0.0.1~nodot~c',
    'sidecar~10.0.0.1~a.~c',
    'ingress~10.0.0.1~a.b~c',
    'x~10.0.0.1~a.b~c',
  ];
  for (const id of badIds) {
    it(`refuses the node id "${id}"`, () => {
      const ask = () => testTranslator().resources(nextSnapshot(undefined, inputs), { ...node('x'), id }, CLUSTER_TYPE, 'coarse');
      expect(ask).to.throw(MeshError).with.property('code', 'invalid');
    });
  }
});
