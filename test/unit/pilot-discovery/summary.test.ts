import { expect } from 'chai';
import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { TYPE_URLS } from '../../../src/pilot-discovery/resource-types.ts';
import { dumpConfiguration } from '../../../src/pilot-discovery/summary.ts';
import { FakeConfigSource, resource, resourceSet } from '../../fakes/config-source.ts';

const NODE = { id: 'sidecar~10.1.1.1~web-1.foo~x', cluster: '', metadata: {}, userAgent: '' };

describe('the configuration of one proxy', () => {
  const clusters = (names: readonly string[]) =>
    resourceSet(
      TYPE_URLS.cluster,
      names.map((name) => resource(TYPE_URLS.cluster, name, Cluster.encode(Cluster.fromPartial({ name })).finish())),
    );

  it('is one JSON object, made a resource at a time, all of it of the snapshot it began with', () => {
    const source = new FakeConfigSource();
    source.publish(clusters(['a', 'b', 'c']));
    const pieces = dumpConfiguration(source, NODE)[Symbol.iterator]();
    let text = pieces.next().value;
    source.publish(clusters(['d']));
    let longest = 0;
    for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
      text += next.value;
      longest = Math.max(longest, next.value.split('"name":').length - 1);
    }
    expect(longest, 'resources in one piece').to.equal(1);
    const { proxy, sequence, cluster, endpoint } = JSON.parse(text);
    expect([proxy, sequence, endpoint.resources]).to.deep.equal([NODE.id, 1, []]);
    expect(cluster.resources.map(({ name }: { readonly name: string }) => name)).to.deep.equal(['a', 'b', 'c']);
  });
});
