/** Clients that read slowly, or not at all, or mean harm: what they cost is bounded, and others are served. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { DiscoveryRequest } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { createAdsMethods } from '../../src/delivery/ads.ts';
import { ADS_DELTA_PATH, ADS_SOTW_PATH, CLUSTER, ENDPOINT } from '../../src/delivery/types.ts';
import type { ServerStream } from '../../src/io/grpc/types.ts';
import { silentLogger } from '../../src/io/log/logger.ts';
import { FakeConfigSource } from '../fakes/config-source.ts';
import { AdsBench, ack, ask, changes, contents, deltaAck, deltaAsk, NODE, nack, setOf } from './ads-bench.ts';

const MIB = 1024 * 1024;
const ALL_NAMES = Array.from({ length: 100_000 }, (_, i) => `outbound|80||service-${i}.default.svc.cluster.local`);

describe('hostile and slow clients', function () {
  this.timeout(120_000);
  let bench: AdsBench;
  beforeEach(async () => {
    bench = new AdsBench();
    await bench.start();
  });
  afterEach(() => bench.close());

  /** That others are still served. */
  async function othersAreServed(): Promise<void> {
    const other = bench.sotw();
    other.send(ask(CLUSTER));
    expect(contents(await other.next())).to.not.be.empty;
  }

  it('that never acknowledge get one response, then the newest', async () => {
    bench.source.publish(setOf(CLUSTER, { a: '0' }), setOf(ENDPOINT, { a: '0' }));
    const [sotw, delta] = [bench.sotw(), bench.delta()];
    sotw.send(ask(CLUSTER));
    delta.send(deltaAsk(ENDPOINT, { subscribe: ['a'] }));
    const [first, second] = [await sotw.next(), await delta.next()];
    for (let i = 1; i <= 200; i += 1) bench.source.publish(setOf(CLUSTER, { a: `${i}` }), setOf(ENDPOINT, { a: `${i}` }));
    await othersAreServed();
    expect([sotw.waiting, delta.waiting]).to.deep.equal([0, 0]);
    sotw.send(ack(first));
    delta.send(deltaAck(second));
    expect(contents(await sotw.next())).to.deep.equal(['200']);
    expect(changes(await delta.next())).to.deep.equal(['a=200']);
  });

  it('that acknowledge or reject what was never sent are not listened to', async () => {
    bench.source.publish(setOf(CLUSTER, { a: '1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    const first = await client.next();
    for (let i = 0; i < 2_000; i += 1) {
      const garbage = { ...first, nonce: `${'x'.repeat(50)}${i}` };
      client.send(i % 2 === 0 ? nack(garbage, 'no') : ack(garbage));
    }
    client.send(nack(first, 'no'));
    await bench.event(({ type }) => type === 'nacked');
    expect([bench.count('nacked'), bench.count('acked'), bench.count('sent')]).to.deep.equal([1, 0, 1]);
    bench.source.publish(setOf(CLUSTER, { a: '2' }));
    expect(contents(await client.next())).to.deep.equal(['2']);
  });

  it('that reject everything are sent each version once', async () => {
    bench.source.publish(setOf(CLUSTER, { a: '1' }));
    const client = bench.delta();
    client.send(deltaAsk(CLUSTER));
    for (let i = 2; i <= 20; i += 1) {
      const response = await client.next();
      for (let again = 0; again < 50; again += 1) client.send(deltaAck(response, 'no'));
      await bench.event((event) => event.type === 'nacked' && event.nonce === response.nonce);
      bench.source.publish(setOf(CLUSTER, { a: `${i}` }));
    }
    await client.next();
    expect(bench.count('sent')).to.equal(20);
  });

  it('that subscribe to 100,000 names lose their stream', async () => {
    bench.source.publish(setOf(CLUSTER, { a: '1' }));
    const [sotw, delta] = [bench.sotw(), bench.delta()];
    sotw.send(ask(ENDPOINT, ALL_NAMES.slice(0, 60_000)));
    for (let at = 0; at < ALL_NAMES.length; at += 20_000) {
      delta.send(deltaAsk(ENDPOINT, { subscribe: ALL_NAMES.slice(at, at + 20_000) }));
    }
    for (const client of [sotw, delta]) expect((await client.ended).code).to.equal(status.RESOURCE_EXHAUSTED);
    await othersAreServed();
  });

  it('that send requests without end lose their stream', async () => {
    bench.source.publish(setOf(CLUSTER, { a: '1' }));
    await bench.close();
    let now = 0;
    await bench.start({ now: () => now });
    const [flood, patient] = [bench.sotw(), bench.sotw()];
    patient.send(ask(CLUSTER));
    const first = await patient.next();
    for (let i = 0; i < 6_000; i += 1) flood.send(ask(CLUSTER));
    const { code, details } = await flood.ended;
    expect(code).to.equal(status.RESOURCE_EXHAUSTED);
    expect(details).to.include('200 discovery requests a second');
    // As many are no harm when they take their time.
    for (let second = 0; second < 60; second += 1) {
      now += 1_000;
      for (let i = 0; i < 100; i += 1) patient.send(ack({ ...first, nonce: `${second}` }));
      await othersAreServed();
    }
    expect(bench.source.listeners).to.be.greaterThan(0);
    patient.send(ack(first));
    await bench.event((event) => event.type === 'acked');
  });

  it('that say too much of themselves are refused', async () => {
    bench.source.publish(setOf(CLUSTER, { a: '1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER, [], { node: { ...NODE, metadata: { LABELS: 'x'.repeat(MIB) } } } as object));
    const { code, details } = await client.ended;
    expect(code).to.equal(status.RESOURCE_EXHAUSTED);
    expect(details).to.include('put less into its metadata');
  });

  it('by the thousand that do not read share what waits for them', async () => {
    const source = new FakeConfigSource();
    const CLIENTS = 1_000;
    const BYTES = 2 * MIB;
    source.publish(setOf(CLUSTER, { big: 'x'.repeat(BYTES) }));
    const [sotw] = createAdsMethods({
      source,
      observe: () => {},
      admit: () => {},
      logger: silentLogger,
      timer: () => () => {},
    }).filter(({ path }) => path === ADS_SOTW_PATH);
    if (sotw?.type !== 'stream') throw new Error('there is no such method');
    const over = new AbortController();
    const written: (readonly Uint8Array[])[] = [];
    const before = process.memoryUsage().arrayBuffers;
    const done = Array.from({ length: CLIENTS }, () =>
      sotw.handle(stalled(over.signal, written), {
        metadata: new Map(),
        peer: { address: '', certificate: undefined },
        signal: over.signal,
      } as never),
    );
    while (written.length < CLIENTS) await new Promise((resolve) => setImmediate(resolve));
    expect(new Set(written.map((chunks) => chunks.at(-1))).size).to.equal(1);
    expect(written[0]?.at(-1)?.length).to.be.greaterThan(BYTES);
    for (let i = 0; i < 20; i += 1) source.publish(setOf(CLUSTER, { big: `${i}`.repeat(BYTES) }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).to.have.length(CLIENTS);
    // A copy for each would be 2 GB; what was published meanwhile is the test's own.
    expect((process.memoryUsage().arrayBuffers - before) / MIB).to.be.lessThan(300);
    over.abort();
    await Promise.allSettled(done);
    expect(source.listeners).to.equal(0);
  });

  it('of which 2,000 come back at once are all served', async () => {
    bench.source.publish(setOf(CLUSTER, { a: '1' }));
    const CLIENTS = 2_000;
    const request = DiscoveryRequest.encode(ask(CLUSTER)).finish();
    const header = Buffer.alloc(5);
    header.writeUInt32BE(request.length, 1);
    const headers = { ':method': 'POST', ':path': ADS_SOTW_PATH, 'content-type': 'application/grpc', te: 'trailers' };
    const sessions = Array.from({ length: CLIENTS }, () => connect(`http://127.0.0.1:${bench.port}`));
    try {
      const served = sessions.map(async (session) => {
        const stream = session.request(headers);
        stream.write(Buffer.concat([header, request]));
        const [chunk] = (await once(stream, 'data')) as [Buffer];
        return chunk.length;
      });
      const lengths = await Promise.all(served);
      expect(lengths.every((length) => length > 5)).to.equal(true);
      expect(bench.count('connected')).to.equal(CLIENTS);
    } finally {
      for (const session of sessions) session.destroy();
    }
  });

  for (const path of [ADS_SOTW_PATH, ADS_DELTA_PATH]) {
    it(`that are in the middle of a push when the server stops are told (${path.split('/').at(-1)})`, async () => {
      bench.source.publish(setOf(CLUSTER, { big: 'x'.repeat(40 * MIB) }));
      const client = path === ADS_SOTW_PATH ? bench.sotw() : bench.delta();
      client.stall();
      client.send((path === ADS_SOTW_PATH ? ask(CLUSTER) : deltaAsk(CLUSTER)) as never);
      await bench.event(({ type }) => type === 'sent');
      await bench.server?.close(50);
      await bench.event(({ type }) => type === 'disconnected');
      expect(bench.source.listeners).to.equal(0);
      // Who does not read learns of it by the end of the connection, which clients call by any of these names.
      expect((await client.ended).code).to.be.oneOf([status.UNAVAILABLE, status.CANCELLED, status.INTERNAL]);
    });
  }
});

/** A stream whose client asks once and reads nothing. */
function stalled(signal: AbortSignal, written: (readonly Uint8Array[])[]): ServerStream {
  async function* requests() {
    yield DiscoveryRequest.encode(ask(CLUSTER)).finish();
    await once(signal, 'abort');
  }
  return {
    requests: requests(),
    write(chunks) {
      written.push(chunks);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('over')), { once: true }));
    },
  };
}
