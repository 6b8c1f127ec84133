import { expect } from 'chai';
import { CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET } from '../../src/delivery/types.ts';
import { MeshError } from '../../src/lib/errors.ts';
import { AdsBench, ack, ask, contents, nack, setOf } from './ads-bench.ts';

describe('ADS, state of the world', () => {
  let bench: AdsBench;
  beforeEach(async () => {
    bench = new AdsBench();
    await bench.start();
  });
  afterEach(() => bench.close());

  it('sends everything of a type to who asks for all, sorted', async () => {
    bench.source.publish(setOf(CLUSTER, { b: 'B1', a: 'A1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    const response = await client.next();
    expect(contents(response)).to.deep.equal(['A1', 'B1']);
    expect(response.versionInfo).to.not.equal('');
    expect(response.nonce).to.not.equal('');
  });

  it('answers the first request even when there is nothing, but not before the first snapshot', async () => {
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    await bench.event(({ type }) => type === 'connected');
    bench.source.publish(setOf(ENDPOINT, { a: 'A' }));
    expect(contents(await client.next())).to.deep.equal([]);
  });

  it('sends only what was named, and pushes only what changed of it', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1', c: 'C1' }));
    const client = bench.sotw();
    client.send(ask(ENDPOINT, ['a', 'b', 'missing']));
    const first = await client.next();
    expect(contents(first)).to.deep.equal(['A1', 'B1']);
    client.send(ack(first, ['a', 'b', 'missing']));
    await bench.event(({ type }) => type === 'acked');
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1', c: 'C2' }));
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B2', c: 'C3' }));
    const second = await client.next();
    expect([second.versionInfo === first.versionInfo, ...contents(second)]).to.deep.equal([false, 'B2']);
    client.send(ack(second, ['a', 'b', 'missing']));
    await bench.event((event) => event.type === 'acked' && event.nonce === second.nonce);
    bench.source.publish(setOf(ENDPOINT, { a: 'A2', b: 'B2', missing: 'M1' }));
    expect(contents(await client.next())).to.deep.equal(['A2', 'M1']);
    expect(bench.count('sent')).to.equal(3);
  });

  it('pushes all of what was named when some of it is gone, and after a rejection, which may have been taken over in part', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1', c: 'C1' }));
    const client = bench.sotw();
    const names = ['a', 'b', 'c'];
    client.send(ask(ENDPOINT, names));
    client.send(ack(await client.next(), names));
    await bench.event(({ type }) => type === 'acked');
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1' }));
    const second = await client.next();
    expect(contents(second)).to.deep.equal(['A1', 'B1']);
    client.send(ack(second, names));
    await bench.event((event) => event.type === 'acked' && event.nonce === second.nonce);
    bench.source.publish(setOf(ENDPOINT, { a: 'A2', b: 'bad' }));
    client.send(nack(await client.next(), 'no', names));
    await bench.event(({ type }) => type === 'nacked');
    bench.source.publish(setOf(ENDPOINT, { a: 'A2', b: 'B3' }));
    expect(contents(await client.next())).to.deep.equal(['A2', 'B3']);
  });

  it('pushes all clusters and listeners, also to who names them: what is not there is deleted', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER, ['a', 'b']));
    client.send(ack(await client.next(), ['a', 'b']));
    await bench.event(({ type }) => type === 'acked');
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B2' }));
    expect(contents(await client.next())).to.deep.equal(['A1', 'B2']);
  });

  it('answers added names, with all of them, and is silent when names are taken away', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1' }));
    const client = bench.sotw();
    client.send(ask(ENDPOINT, ['a']));
    const first = await client.next();
    client.send(ack(first, ['a', 'b']));
    const second = await client.next();
    expect(contents(second)).to.deep.equal(['A1', 'B1']);
    client.send(ack(second, ['b']));
    await bench.event((event) => event.type === 'acked' && event.nonce === second.nonce);
    bench.source.publish(setOf(ENDPOINT, { a: 'A2', b: 'B1' }));
    bench.source.publish(setOf(ENDPOINT, { a: 'A2', b: 'B2' }));
    expect(contents(await client.next())).to.deep.equal(['B2']);
  });

  it('answers who asks again for what it has, for Envoy waits for the endpoints of a cluster it warms', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1' }));
    const client = bench.sotw();
    client.send(ask(ENDPOINT, ['a']));
    const first = await client.next();
    client.send(ack(first, ['a']));
    client.send(ack(first, ['a']));
    const second = await client.next();
    expect(contents(second)).to.deep.equal(['A1']);
    expect(second.nonce).to.not.equal(first.nonce);
  });

  it('answers a repeated request that was folded into the acknowledgement, after clusters were sent', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'C1' }), setOf(ENDPOINT, { a: 'E1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    client.send(ack(await client.next()));
    client.send(ask(ENDPOINT, ['a']));
    const endpoints = await client.next();
    bench.source.publish(setOf(CLUSTER, { a: 'C2' }));
    const clusters = await client.next();
    client.send(ack(clusters));
    client.send(ack(endpoints, ['a']));
    expect(contents(await client.next())).to.deep.equal(['E1']);
  });

  it('takes an empty list after names as none', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1' }), setOf(CLUSTER, { a: 'C1' }));
    const client = bench.sotw();
    client.send(ask(ENDPOINT, ['a']));
    const first = await client.next();
    client.send(ack(first));
    await bench.event(({ type }) => type === 'acked');
    bench.source.publish(setOf(ENDPOINT, { a: 'A2' }));
    client.send(ask(CLUSTER));
    expect((await client.next()).typeUrl).to.equal(CLUSTER);
  });

  it('understands "*", and names after it', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER, ['*']));
    const first = await client.next();
    expect(contents(first)).to.deep.equal(['A1', 'B1']);
    client.send(ack(first, ['b']));
    await bench.event(({ type }) => type === 'acked');
    bench.source.publish(setOf(CLUSTER, { a: 'A2', b: 'B1' }));
    bench.source.publish(setOf(CLUSTER, { a: 'A2', b: 'B2' }));
    expect(contents(await client.next())).to.deep.equal(['B2']);
  });

  it('holds back while a response is in flight, then sends the newest only', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    const first = await client.next();
    for (const content of ['A2', 'A3', 'A4']) bench.source.publish(setOf(CLUSTER, { a: content }));
    client.send(ask(LISTENER));
    expect((await client.next()).typeUrl).to.equal(LISTENER);
    client.send(ack(first));
    expect(contents(await client.next())).to.deep.equal(['A4']);
    expect(bench.count('sent', CLUSTER)).to.equal(2);
  });

  it('ignores stale nonces', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    const first = await client.next();
    client.send(ack(first));
    bench.source.publish(setOf(CLUSTER, { a: 'A2' }));
    const second = await client.next();
    client.send(nack(first, 'late'));
    client.send(ack(second));
    await bench.event((event) => event.type === 'acked' && event.nonce === second.nonce);
    expect(bench.count('nacked')).to.equal(0);
  });

  it('answers the first request of a reconnected client, whatever version and nonce it brings', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER, [], { versionInfo: setOf(CLUSTER, { a: 'A1' }).version, responseNonce: '77' }));
    expect(contents(await client.next())).to.deep.equal(['A1']);
  });

  it('tells of a rejection, and sends again only what is different', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'bad' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    const first = await client.next();
    client.send(nack(first, 'cluster a is malformed'));
    const event = await bench.event(({ type }) => type === 'nacked');
    expect(event).to.deep.include({ typeUrl: CLUSTER, message: 'cluster a is malformed', version: first.versionInfo });
    bench.source.publish(setOf(CLUSTER, { a: 'bad' }));
    bench.source.publish(setOf(CLUSTER, { a: 'good' }));
    expect(contents(await client.next())).to.deep.equal(['good']);
    expect(bench.count('sent')).to.equal(2);
  });

  it('pushes in the order that makes before it breaks', async () => {
    const publish = (n: number) =>
      bench.source.publish(...[ROUTE, LISTENER, ENDPOINT, CLUSTER].map((type) => setOf(type, { x: `${n}` })));
    publish(1);
    const client = bench.sotw();
    for (const type of [ROUTE, ENDPOINT, LISTENER, CLUSTER]) {
      client.send(ask(type, type === ROUTE || type === ENDPOINT ? ['x'] : []));
      client.send(ack(await client.next(), type === ROUTE || type === ENDPOINT ? ['x'] : []));
    }
    await bench.event((event) => event.type === 'acked' && event.typeUrl === CLUSTER);
    publish(2);
    const clusters = await client.next();
    expect(clusters.typeUrl).to.equal(CLUSTER);
    // Were anything else on its way, it would come before the answer to this.
    client.send(ask(SECRET));
    expect((await client.next()).typeUrl).to.equal(SECRET);
    client.send(ack(clusters));
    const order: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      const response = await client.next();
      order.push(response.typeUrl);
      client.send(ack(response, response.typeUrl === LISTENER ? [] : ['x']));
    }
    expect(order).to.deep.equal([ENDPOINT, LISTENER, ROUTE]);
  });

  it('reports once the client holds all of the newest snapshot, not after a rejection', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1' }));
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    client.send(ack(await client.next()));
    await bench.event((event) => event.type === 'current' && event.sequence === 1);
    bench.source.publish(setOf(CLUSTER, { a: 'bad' }));
    client.send(nack(await client.next(), 'no'));
    bench.source.publish(setOf(CLUSTER, { a: 'A3' }));
    client.send(ack(await client.next()));
    await bench.event((event) => event.type === 'current' && event.sequence === 3);
    expect(bench.count('current')).to.equal(2);
  });

  it('serves one type alone, where the type may go unsaid', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1' }));
    const path = '/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters';
    const client = bench.sotw(path);
    client.send({ ...ask(CLUSTER), typeUrl: '' });
    expect((await client.next()).typeUrl).to.equal(CLUSTER);
    const wrong = bench.sotw(path);
    wrong.send(ask(LISTENER));
    expect(await wrong.ended).to.include({ code: 3 });
  });

  it('tells who comes and goes, and forgets them', async () => {
    bench.source.publish(setOf(CLUSTER, {}));
    const client = bench.sotw();
    client.send(
      ask(CLUSTER, [], { node: { id: 'sidecar~1', cluster: 'c', metadata: { A: { B: 1 } }, userAgentName: 'envoy' } as never }),
    );
    const connected = await bench.event(({ type }) => type === 'connected');
    expect(connected).to.deep.include({ node: { id: 'sidecar~1', cluster: 'c', metadata: { A: { B: 1 } }, userAgent: 'envoy' } });
    client.close();
    await bench.event(({ type }) => type === 'disconnected');
    expect(bench.source.listeners).to.equal(0);
  });

  it('ends well when the client half-closes', async () => {
    bench.source.publish(setOf(CLUSTER, {}));
    const client = bench.sotw();
    client.send(ask(CLUSTER));
    await client.next();
    client.halfClose();
    expect(await client.ended).to.include({ code: 0 });
  });

  it('refuses a stream without a node, a request without a type, and what the source refuses', async () => {
    bench.source.publish(setOf(CLUSTER, {}));
    const nodeless = bench.sotw();
    nodeless.send(ask(CLUSTER, [], { node: undefined }));
    expect(await nodeless.ended).to.deep.equal({ code: 3, details: 'the first discovery request of a stream has no node id' });
    const typeless = bench.sotw();
    typeless.send({ ...ask(CLUSTER), typeUrl: '' });
    expect(await typeless.ended).to.include({ code: 3 });
    bench.source.refuse = () => {
      throw new MeshError('permission_denied', 'no such proxy');
    };
    const refused = bench.sotw();
    refused.send(ask(CLUSTER));
    expect(await refused.ended).to.deep.equal({ code: 7, details: 'no such proxy' });
  });

  it('bounds what one stream may subscribe to', async () => {
    await bench.close();
    await bench.start({ maxNames: 10 });
    bench.source.publish(setOf(CLUSTER, {}));
    const client = bench.sotw();
    client.send(
      ask(
        ENDPOINT,
        Array.from({ length: 11 }, (_, i) => `n${i}`),
      ),
    );
    expect(await client.ended).to.include({ code: 8 });
    const many = bench.sotw();
    for (let i = 0; i < 33; i += 1) many.send(ask(`type.googleapis.com/t.T${i}`));
    expect(await many.ended).to.include({ code: 8 });
  });

  it('closes the stream of a reader that stalls', async () => {
    await bench.close();
    const expire = Promise.withResolvers<() => void>();
    await bench.start({
      timer: (run) => {
        expire.resolve(run);
        return () => {};
      },
    });
    bench.source.publish(setOf(CLUSTER, { big: 'x'.repeat(30_000_000) }));
    const client = bench.sotw();
    client.stall();
    client.send(ask(CLUSTER));
    (await expire.promise)();
    await bench.event(({ type }) => type === 'timed_out');
    await bench.event(({ type }) => type === 'disconnected');
    expect(bench.source.listeners).to.equal(0);
  });
});
