import { expect } from 'chai';
import fc from 'fast-check';
import { DeltaDiscoveryResponse, DiscoveryResponse } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { type Asked, Frames, responseHead } from '../../../src/delivery/frames.ts';
import { ALL, type Interest } from '../../../src/delivery/interest.ts';
import { NamePool } from '../../../src/delivery/name-set.ts';
import type { ResourceSet } from '../../../src/delivery/ports.ts';
import { ENDPOINT } from '../../../src/delivery/types.ts';
import { resource, resourceSet } from '../../fakes/config-source.ts';

type Contents = Readonly<Record<string, string>>;

const setOf = (contents: Contents): ResourceSet =>
  resourceSet(
    ENDPOINT,
    Object.entries(contents).map(([name, content]) => resource(ENDPOINT, name, Buffer.from(content))),
  );

const names = fc.constantFrom('a', 'b', 'c', 'd', 'ü', 'long'.repeat(50));
const contents = fc.dictionary(names, fc.string({ maxLength: 300 }), { noNullPrototype: true });

describe('shared frames', () => {
  const pool = new NamePool(100);
  const some = (wanted: Iterable<string>): Interest => ({ type: 'names', names: pool.of(wanted) });
  const none: Asked = { type: 'names', names: pool.empty };

  it('splice into responses that protobuf reads back', () => {
    fc.assert(
      fc.property(contents, fc.uniqueArray(names), (held, wanted) => {
        const set = setOf(held);
        const bytes = Buffer.concat([responseHead('v1', ENDPOINT, 'n1'), new Frames(1e6).sotw(set, some(wanted))]);
        const { versionInfo, typeUrl, nonce, resources } = DiscoveryResponse.decode(bytes);
        expect([versionInfo, typeUrl, nonce]).to.deep.equal(['v1', ENDPOINT, 'n1']);
        const expected = wanted
          .filter((name) => name in held)
          .sort()
          .map((name) => held[name]);
        expect(resources.map(({ value }) => Buffer.from(value).toString())).to.deep.equal(expected);
      }),
    );
  });

  it('take a client from any set to any other, whatever it subscribed to', () => {
    const frames = new Frames(1e6);
    fc.assert(
      fc.property(contents, contents, fc.option(fc.uniqueArray(names)), (before, after, wanted) => {
        const interest = wanted === null ? ALL : some(wanted);
        const frame = frames.delta(setOf(before), setOf(after), interest, none);
        const response = DeltaDiscoveryResponse.decode(frame.bytes);
        const view = (all: Contents) => new Map(Object.entries(all).filter(([name]) => wanted === null || wanted.includes(name)));
        const client = view(before);
        for (const { name, resource: any } of response.resources) {
          const content = Buffer.from(any?.value ?? []).toString();
          expect(content, `${name} is sent though unchanged`).to.not.equal(client.get(name));
          client.set(name, content);
        }
        for (const name of response.removedResources) expect(client.delete(name)).to.equal(true);
        expect([...client].sort()).to.deep.equal([...view(after)].sort());
        expect(frame.contents.sent).to.deep.equal(response.resources.map(({ name }) => name));
        expect(frame.contents.removed).to.have.members(response.removedResources);
      }),
    );
  });

  it('are one buffer for all clients of the same set and subscription', () => {
    const frames = new Frames(1e6);
    const [from, to] = [setOf({ a: 'x'.repeat(5000) }), setOf({ a: 'y'.repeat(5000) })];
    expect(frames.sotw(to, ALL)).to.equal(frames.sotw(to, ALL));
    expect(frames.sotw(to, some(['a', 'b']))).to.equal(frames.sotw(to, some(['b', 'a'])));
    expect(frames.delta(from, to, ALL, none)).to.equal(frames.delta(from, to, ALL, none));
    const [small, smaller] = [setOf({ a: '1', b: '1' }), setOf({ a: '1', b: '2' })];
    expect(frames.delta(small, smaller, ALL, none)).to.equal(frames.delta(small, smaller, ALL, none));
  });

  it('are forgotten, oldest use first, when they would take more memory than allowed', () => {
    const frames = new Frames(12_000);
    const [a, b, c] = ['a', 'b', 'c'].map((content) => setOf({ x: content.repeat(5000) })) as [
      ResourceSet,
      ResourceSet,
      ResourceSet,
    ];
    const first = frames.sotw(a, ALL);
    const second = frames.sotw(b, ALL);
    expect(frames.sotw(a, ALL)).to.equal(first);
    frames.sotw(c, ALL);
    expect(frames.sotw(a, ALL)).to.equal(first);
    expect(frames.sotw(b, ALL)).to.not.equal(second);
  });

  it('have a version that changes with what the client gets, and with nothing else', () => {
    const frames = new Frames(1e6);
    const [before, other, own] = [
      { a: '1', b: '1' },
      { a: '1', b: '2' },
      { a: '2', b: '1' },
    ].map(setOf) as [ResourceSet, ResourceSet, ResourceSet];
    const version = frames.versionOf(before, some(['a']));
    expect(frames.versionOf(other, some(['a']))).to.equal(version);
    expect(frames.versionOf(own, some(['a']))).to.not.equal(version);
    expect(frames.versionOf(before, ALL)).to.equal(before.version);
  });
});
