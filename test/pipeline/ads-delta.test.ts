import { expect } from 'chai';
import { CLUSTER, ENDPOINT, LISTENER, ROUTE } from '../../src/delivery/types.ts';
import { AdsBench, changes, deltaAck, deltaAsk, setOf } from './ads-bench.ts';

describe('ADS, delta', () => {
  let bench: AdsBench;
  beforeEach(async () => {
    bench = new AdsBench();
    await bench.start();
  });
  afterEach(() => bench.close());

  /** A stream that is subscribed and has acknowledged what it got. */
  async function subscribed(typeUrl: typeof CLUSTER, subscribe: readonly string[]) {
    const client = bench.delta();
    client.send(deltaAsk(typeUrl, { subscribe }));
    const first = await client.next();
    client.send(deltaAck(first));
    await bench.event((event) => event.type === 'acked' && event.nonce === first.nonce);
    return { client, first };
  }

  it('sends everything to a wildcard first, then only what changed', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B1', c: 'C1' }));
    const { client, first } = await subscribed(CLUSTER, []);
    expect(changes(first)).to.deep.equal(['a=A1', 'b=B1', 'c=C1']);
    expect(first.resources[0]?.version).to.equal(setOf(CLUSTER, { a: 'A1' }).resources.get('a')?.version);
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B2', d: 'D1' }));
    expect(changes(await client.next())).to.deep.equal(['b=B2', 'd=D1', '-c']);
  });

  it('opens an empty wildcard with an empty response', async () => {
    bench.source.publish();
    const client = bench.delta();
    client.send(deltaAsk(CLUSTER, { subscribe: ['*'] }));
    expect(changes(await client.next())).to.deep.equal([]);
  });

  it('sends named resources, and says which do not exist', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1' }));
    const { client, first } = await subscribed(ENDPOINT, ['a', 'missing']);
    expect(changes(first)).to.deep.equal(['a=A1', '-missing']);
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B2', missing: 'M1' }));
    expect(changes(await client.next())).to.deep.equal(['missing=M1']);
  });

  it('answers names subscribed to later, alone, and one asked for again', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1' }));
    const { client } = await subscribed(ENDPOINT, ['a']);
    client.send(deltaAsk(ENDPOINT, { subscribe: ['b'] }));
    const second = await client.next();
    expect(changes(second)).to.deep.equal(['b=B1']);
    client.send(deltaAck(second));
    client.send(deltaAsk(ENDPOINT, { subscribe: ['a', 'none'] }));
    expect(changes(await client.next())).to.deep.equal(['a=A1', '-none']);
  });

  it('leaves out what was unsubscribed from, and gives it whole when it is asked for again', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1' }));
    const { client } = await subscribed(ENDPOINT, ['a', 'b']);
    client.send(deltaAsk(ENDPOINT, { unsubscribe: ['a'] }));
    client.send(deltaAsk(CLUSTER));
    client.send(deltaAck(await client.next()));
    bench.source.publish(setOf(ENDPOINT, { a: 'A2', b: 'B2' }));
    const second = await client.next();
    expect(changes(second)).to.deep.equal(['b=B2']);
    client.send(deltaAck(second));
    client.send(deltaAsk(ENDPOINT, { subscribe: ['a'] }));
    expect(changes(await client.next())).to.deep.equal(['a=A2']);
  });

  it('tells a wildcard client what becomes of a name it unsubscribes from', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1' }));
    const { client, first } = await subscribed(CLUSTER, ['*', 'a', 'x']);
    expect(changes(first)).to.deep.equal(['a=A1', '-x']);
    client.send(deltaAsk(CLUSTER, { unsubscribe: ['a', 'x'] }));
    expect(changes(await client.next())).to.deep.equal(['a=A1', '-x']);
  });

  it('narrows from the wildcard to names and widens back', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B1' }));
    const { client } = await subscribed(CLUSTER, ['*', 'a']);
    client.send(deltaAsk(CLUSTER, { unsubscribe: ['*'] }));
    client.send(deltaAsk(LISTENER));
    client.send(deltaAck(await client.next()));
    bench.source.publish(setOf(CLUSTER, { a: 'A2', b: 'B2' }));
    const second = await client.next();
    expect(changes(second)).to.deep.equal(['a=A2']);
    client.send(deltaAck(second));
    client.send(deltaAsk(CLUSTER, { subscribe: ['*'] }));
    expect(changes(await client.next())).to.deep.equal(['a=A2', 'b=B2']);
  });

  it('sends a reconnected client only what it lacks', async () => {
    const before = setOf(CLUSTER, { a: 'A1', b: 'B1', gone: 'G1' });
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B2', c: 'C1' }));
    const held = Object.fromEntries([...before.resources.values()].map(({ name, version }) => [name, version]));
    const client = bench.delta();
    client.send(deltaAsk(CLUSTER, { held }));
    expect(changes(await client.next())).to.deep.equal(['b=B2', 'c=C1', '-gone']);
  });

  it('sends a reconnected client that lacks nothing, nothing, and goes on from there', async () => {
    const sets = [setOf(CLUSTER, { a: 'A1', b: 'B1' }), setOf(ENDPOINT, { a: 'E1', b: 'F1' })];
    bench.source.publish(...sets);
    const client = bench.delta();
    for (const set of sets) {
      const held = Object.fromEntries([...set.resources.values()].map(({ name, version }) => [name, version]));
      client.send(deltaAsk(set.typeUrl as typeof CLUSTER, { held, subscribe: set.typeUrl === ENDPOINT ? ['a', 'b'] : ['*'] }));
    }
    client.send(deltaAsk(LISTENER));
    const only = await client.next();
    expect(only.typeUrl).to.equal(LISTENER);
    client.send(deltaAck(only));
    bench.source.publish(setOf(ENDPOINT, { a: 'E2', b: 'F1' }));
    expect(changes(await client.next())).to.deep.equal(['a=E2']);
    expect(bench.count('sent')).to.equal(2);
  });

  it('answers requests only after the response in flight, and with the newest', async () => {
    bench.source.publish(setOf(ENDPOINT, { a: 'A1', b: 'B1' }));
    const client = bench.delta();
    client.send(deltaAsk(ENDPOINT, { subscribe: ['a'] }));
    const first = await client.next();
    client.send(deltaAsk(ENDPOINT, { subscribe: ['b'] }));
    bench.source.publish(setOf(ENDPOINT, { a: 'A2', b: 'B1' }));
    bench.source.publish(setOf(ENDPOINT, { a: 'A3', b: 'B2' }));
    client.send(deltaAsk(LISTENER));
    expect((await client.next()).typeUrl).to.equal(LISTENER);
    client.send(deltaAck(first));
    expect(changes(await client.next())).to.deep.equal(['a=A3', 'b=B2']);
  });

  it('tells of a rejection, does not repeat it, and repairs all of it with the next change', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B1' }));
    const { client } = await subscribed(CLUSTER, []);
    bench.source.publish(setOf(CLUSTER, { a: 'bad', b: 'B2' }));
    const rejected = await client.next();
    client.send(deltaAck(rejected, 'a is malformed'));
    const event = await bench.event(({ type }) => type === 'nacked');
    expect(event).to.deep.include({ message: 'a is malformed', nonce: rejected.nonce });
    bench.source.publish(setOf(CLUSTER, { a: 'bad', b: 'B2' }));
    bench.source.publish(setOf(CLUSTER, { a: 'A3', b: 'B2' }));
    expect(changes(await client.next())).to.deep.equal(['a=A3', 'b=B2']);
  });

  it('sends what was rejected as it was before when the change is taken back, and then takes the client for current', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B1', c: 'C1' }));
    const client = bench.delta();
    client.send(deltaAsk(CLUSTER));
    client.send(deltaAck(await client.next()));
    await bench.event(({ type }) => type === 'acked');
    bench.source.publish(setOf(CLUSTER, { a: 'A2', b: 'bad', c: 'C1' }));
    client.send(deltaAck(await client.next(), 'b is malformed'));
    await bench.event(({ type }) => type === 'nacked');
    bench.source.publish(setOf(CLUSTER, { a: 'A1', b: 'B1', c: 'C1' }));
    const repair = await client.next();
    expect(changes(repair)).to.deep.equal(['a=A1', 'b=B1']);
    client.send(deltaAck(repair));
    await bench.event((event) => event.type === 'current' && event.sequence === 3);
  });

  it('ignores acknowledgements of other responses', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'A1' }));
    const client = bench.delta();
    client.send(deltaAsk(CLUSTER));
    const first = await client.next();
    client.send({ ...deltaAck(first, 'no'), responseNonce: 'other' });
    client.send(deltaAck(first));
    await bench.event(({ type }) => type === 'acked');
    expect(bench.count('nacked')).to.equal(0);
  });

  it('sends the endpoints of a replaced cluster again, for Envoy waits for them and does not ask', async () => {
    bench.source.publish(setOf(CLUSTER, { a: 'C1', b: 'C1' }), setOf(ENDPOINT, { a: 'E1', b: 'E1' }));
    const { client } = await subscribed(CLUSTER, []);
    client.send(deltaAsk(ENDPOINT, { subscribe: ['a', 'b'] }));
    client.send(deltaAck(await client.next()));
    await bench.event((event) => event.type === 'acked' && event.typeUrl === ENDPOINT);
    bench.source.publish(setOf(CLUSTER, { a: 'C2', b: 'C1', c: 'C1' }));
    const clusters = await client.next();
    expect(changes(clusters)).to.deep.equal(['a=C2', 'c=C1']);
    const endpoints = await client.next();
    expect([endpoints.typeUrl, ...changes(endpoints)]).to.deep.equal([ENDPOINT, 'a=E1']);
  });

  it('pushes in the order that makes before it breaks', async () => {
    const publish = (n: number) =>
      bench.source.publish(...[ROUTE, LISTENER, ENDPOINT, CLUSTER].map((type) => setOf(type, { [`x${n}`]: `${n}` })));
    publish(1);
    const { client } = await subscribed(CLUSTER, []);
    for (const type of [ROUTE, ENDPOINT, LISTENER]) {
      client.send(deltaAsk(type, { subscribe: type === LISTENER ? ['*'] : ['x1', 'x2'] }));
      client.send(deltaAck(await client.next()));
    }
    await bench.event((event) => event.type === 'acked' && event.typeUrl === LISTENER);
    publish(2);
    const order: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      const response = await client.next();
      order.push(response.typeUrl);
      client.send(deltaAck(response));
    }
    expect(order).to.deep.equal([CLUSTER, ENDPOINT, LISTENER, ROUTE]);
  });

  it('bounds names over many requests, and versions brought along', async () => {
    await bench.close();
    await bench.start({ maxNames: 10 });
    bench.source.publish(setOf(CLUSTER, {}));
    const client = bench.delta();
    for (let i = 0; i < 11; i += 1) client.send(deltaAsk(ENDPOINT, { subscribe: [`n${i}`] }));
    expect(await client.ended).to.include({ code: 8 });
    const other = bench.delta();
    other.send(deltaAsk(CLUSTER, { held: Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`n${i}`, '1'])) }));
    expect(await other.ended).to.include({ code: 8 });
  });
});
