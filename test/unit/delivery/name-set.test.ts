import { expect } from 'chai';
import { DiscoveryRequest } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { NamePool } from '../../../src/delivery/name-set.ts';
import { parseDeltaRequest, parseSotwRequest } from '../../../src/delivery/request.ts';

describe('name sets', () => {
  it('are one object for the same names, however they came to be', () => {
    const pool = new NamePool(10);
    const ab = pool.of(['b', 'a', 'b']);
    expect(pool.of(['a', 'b'])).to.equal(ab);
    expect(pool.union(pool.of(['a']), pool.of(['b']))).to.equal(ab);
    expect(pool.minus(pool.of(['a', 'b', 'c']), pool.of(['c', 'd']))).to.equal(ab);
    expect(pool.intersection(pool.of(['a', 'b', 'c']), pool.of(['b', 'a', 'x']))).to.equal(ab);
    expect(pool.minus(ab, ab)).to.equal(pool.empty);
  });

  it('tell names apart that only look alike when joined', () => {
    const pool = new NamePool(10);
    expect(pool.of(['a,b'])).to.not.equal(pool.of(['a', 'b']));
    expect(pool.of(['a","b'])).to.not.equal(pool.of(['a', 'b']));
  });

  it('come from requests, also where other fields stand between the names', () => {
    const pool = new NamePool(10);
    const whole = DiscoveryRequest.encode(DiscoveryRequest.fromPartial({ resourceNames: ['a', 'b'], typeUrl: 't' })).finish();
    const part = (name: string) =>
      DiscoveryRequest.encode(DiscoveryRequest.fromPartial({ resourceNames: [name], typeUrl: 't' })).finish();
    const names = parseSotwRequest(whole, pool).names;
    expect([...names.names]).to.deep.equal(['a', 'b']);
    expect(parseSotwRequest(Buffer.concat([part('a'), part('b')]), pool).names).to.equal(names);
  });

  it('are bounded, repetitions counted', () => {
    const pool = new NamePool(2);
    expect(() => pool.of(['a', 'b', 'c'])).to.throw('over the limit of 2');
    const request = DiscoveryRequest.encode(DiscoveryRequest.fromPartial({ resourceNames: Array(4).fill('a') })).finish();
    expect(() => parseSotwRequest(request, pool))
      .to.throw()
      .with.property('code', 'resource_exhausted');
  });

  it('refuse what is no request', () => {
    const pool = new NamePool(10);
    for (const bytes of [
      Uint8Array.of(0x1a, 0xff),
      Uint8Array.of(0x00),
      Uint8Array.of(0x0a, 0x02, 0xff, 0xff),
      Uint8Array.of(0x3a, 1, 0xff),
    ]) {
      expect(() => parseDeltaRequest(bytes, pool, 10))
        .to.throw()
        .with.property('code', 'invalid');
    }
  });
});
