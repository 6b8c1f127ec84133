import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { ResourceSet } from '../../src/delivery/ports.ts';
import { LISTENER, ROUTE, VIRTUAL_HOST } from '../../src/delivery/types.ts';
import { resourceSet } from '../fakes/config-source.ts';
import type { DeltaClient } from '../harness/ads-client.ts';
import { httpListener, openHost, openTable } from '../harness/envoy-resources.ts';
import { freePort } from '../harness/free-port.ts';
import { PlainEnvoy } from '../harness/plain-envoy.ts';
import { AdsBench, changes, deltaAck, deltaAsk, setOf } from './ads-bench.ts';

const heldOf = (set: ResourceSet) => Object.fromEntries([...set.resources.values()].map(({ name, version }) => [name, version]));

describe('virtual hosts, delivered on their own', () => {
  let bench: AdsBench;
  beforeEach(async () => {
    bench = new AdsBench();
    await bench.start();
  });
  afterEach(() => bench.close());

  const publishHosts = (hosts: Readonly<Record<string, string>>) => bench.source.publish(setOf(VIRTUAL_HOST, hosts));

  async function taken(client: DeltaClient): Promise<string[]> {
    const response = await client.next();
    client.send(deltaAck(response));
    await bench.event((event) => event.type === 'acked' && event.nonce === response.nonce);
    return changes(response);
  }

  it('go to who asks for all, of the route tables that it was sent, and each with its table', async () => {
    bench.source.publish(setOf(ROUTE, { 80: 'R1', 90: 'R1' }), setOf(VIRTUAL_HOST, { '80/a': 'A1', '90/b': 'B1' }));
    const client = bench.delta();
    client.send(deltaAsk(ROUTE, { subscribe: ['80'] }));
    expect(await taken(client)).to.deep.equal(['80=R1']);
    client.send(deltaAsk(VIRTUAL_HOST));
    expect(await taken(client)).to.deep.equal(['80/a=A1']);
    publishHosts({ '80/a': 'A1', '80/c': 'C1', '90/b': 'B2' });
    expect(await taken(client)).to.deep.equal(['80/c=C1']);
    client.send(deltaAsk(ROUTE, { subscribe: ['90'] }));
    expect(await taken(client)).to.deep.equal(['90=R1']);
    expect(await taken(client)).to.deep.equal(['90/b=B2']);
    publishHosts({ '80/c': 'C1', '90/b': 'B3' });
    expect(await taken(client)).to.deep.equal(['90/b=B3', '-80/a']);
  });

  it('follow a table that is asked for again, for the client has dropped them with it', async () => {
    bench.source.publish(setOf(ROUTE, { 80: 'R1' }), setOf(VIRTUAL_HOST, { '80/a': 'A1' }));
    const client = bench.delta();
    client.send(deltaAsk(ROUTE, { subscribe: ['80'] }));
    await taken(client);
    client.send(deltaAsk(VIRTUAL_HOST));
    await taken(client);
    client.send(deltaAsk(ROUTE, { unsubscribe: ['80'] }));
    client.send(deltaAsk(ROUTE, { subscribe: ['80'] }));
    expect(await taken(client)).to.deep.equal(['80=R1']);
    expect(await taken(client)).to.deep.equal(['80/a=A1']);
  });

  it('are told of when a table has none, for the client waits', async () => {
    bench.source.publish(setOf(ROUTE, { 80: 'R1', 90: 'R1' }), setOf(VIRTUAL_HOST, { '80/a': 'A1' }));
    const client = bench.delta();
    client.send(deltaAsk(ROUTE, { subscribe: ['80'] }));
    await taken(client);
    client.send(deltaAsk(VIRTUAL_HOST));
    await taken(client);
    client.send(deltaAsk(ROUTE, { subscribe: ['90'] }));
    expect(await taken(client)).to.deep.equal(['90=R1']);
    expect(await taken(client)).to.deep.equal(['-90/']);
  });

  it('go to who names tables', async () => {
    bench.source.publish(setOf(VIRTUAL_HOST, { '80/a': 'A1', '80/b': 'B1', '90/c': 'C1' }));
    const client = bench.delta();
    client.send(deltaAsk(VIRTUAL_HOST, { subscribe: ['80'] }));
    expect(await taken(client)).to.deep.equal(['80/a=A1', '80/b=B1']);
    publishHosts({ '80/b': 'B2', '90/c': 'C2' });
    expect(await taken(client)).to.deep.equal(['80/b=B2', '-80/a']);
    client.send(deltaAsk(VIRTUAL_HOST, { subscribe: ['90'] }));
    expect(await taken(client)).to.deep.equal(['90/c=C2']);
  });

  it('are not sent to a reconnected client that holds them, but for what changed meanwhile', async () => {
    const [routes, hosts] = [setOf(ROUTE, { 80: 'R1' }), setOf(VIRTUAL_HOST, { '80/a': 'A1', '80/gone': 'G1', '80/c': 'C1' })];
    bench.source.publish(routes, setOf(VIRTUAL_HOST, { '80/a': 'A1', '80/c': 'C2' }));
    const client = bench.delta();
    client.send(deltaAsk(ROUTE, { subscribe: ['80'], held: heldOf(routes) }));
    client.send(deltaAsk(VIRTUAL_HOST, { held: heldOf(hosts) }));
    expect(await taken(client)).to.deep.equal(['80/c=C2', '-80/gone']);
    client.send(deltaAsk(LISTENER));
    expect(await taken(client)).to.deep.equal([]);
    expect(bench.count('sent')).to.equal(2);
  });

  it('are sent anew with a table that a reconnected client has lost, whatever it says to hold of them', async () => {
    const hosts = setOf(VIRTUAL_HOST, { '80/a': 'A1' });
    bench.source.publish(setOf(ROUTE, { 80: 'R1' }), hosts);
    const client = bench.delta();
    client.send(deltaAsk(ROUTE, { subscribe: ['80'] }));
    client.send(deltaAsk(VIRTUAL_HOST, { held: heldOf(hosts) }));
    expect(await taken(client)).to.deep.equal(['80=R1']);
    expect(await taken(client)).to.deep.equal(['80/a=A1']);
  });
});

describe('virtual hosts in a real Envoy', function () {
  this.timeout(120_000);
  let bench: AdsBench;
  let envoy: PlainEnvoy;
  let ports: readonly [number, number];
  let over: AbortController;

  /** What Envoy answers for a host, empty when it does not. */
  const ask = (port: number, host: string): Promise<string> =>
    new Promise((resolve) => {
      const asked = request({ host: '127.0.0.1', port, headers: { host } }, async (response) => {
        resolve(Buffer.concat(await response.toArray()).toString());
      });
      asked.on('error', () => resolve(''));
      asked.end();
    });
  const answered = async (port: number, host: string, text: string) => {
    while ((await ask(port, host)) !== text) await delay(10, undefined, { signal: over.signal });
  };
  const publishHosts = (...hosts: readonly (readonly [table: string, domain: string])[]) =>
    bench.source.publish(
      resourceSet(
        VIRTUAL_HOST,
        hosts.map(([table, domain]) => openHost(table, domain, `${domain} by ${table}`)),
      ),
    );
  const publishListeners = (...tables: readonly string[]) =>
    bench.source.publish(
      resourceSet(
        LISTENER,
        tables.map((table, at) => httpListener(table, ports[at === 0 ? 0 : 1], table, table)),
      ),
    );

  beforeEach(async () => {
    over = new AbortController();
    bench = new AdsBench();
    await bench.start();
    ports = [await freePort(), await freePort()];
    bench.source.publish(resourceSet(ROUTE, [openTable('one', 'unknown'), openTable('two', 'unknown to two')]));
    publishHosts(['one', 'a'], ['one', 'b']);
    publishListeners('one');
    envoy = await PlainEnvoy.start(bench.port, 'DELTA_GRPC');
    await answered(ports[0], 'a', 'a by one');
  });

  afterEach(async () => {
    over.abort();
    await envoy.stop();
    await bench.close();
  });

  it('come and go alone, and no request meets a gap', async () => {
    const wrong: string[] = [];
    const loop = (async () => {
      while (!over.signal.aborted) {
        const got = await ask(ports[0], 'b');
        if (got !== 'b by one' && !over.signal.aborted) wrong.push(got);
      }
    })();
    expect(await ask(ports[0], 'new')).to.equal('unknown');
    publishHosts(['one', 'a'], ['one', 'b'], ['one', 'new']);
    await answered(ports[0], 'new', 'new by one');
    publishHosts(['one', 'b'], ['one', 'new']);
    await answered(ports[0], 'a', 'unknown');
    bench.source.publish(resourceSet(ROUTE, [openTable('one', 'unknown now'), openTable('two', 'unknown to two')]));
    await answered(ports[0], 'a', 'unknown now');
    expect(await ask(ports[0], 'new')).to.equal('new by one');
    expect(bench.count('nacked')).to.equal(0);
    over.abort();
    await loop;
    expect(wrong).to.deep.equal([]);
  });

  it('reach a listener and its table that come later, in one change or before their time', async () => {
    publishHosts(['one', 'a'], ['two', 'early']);
    publishListeners('one', 'two');
    await answered(ports[1], 'early', 'early by two');
    await answered(ports[1], 'other', 'unknown to two');
    await answered(ports[0], 'a', 'a by one');
  });

  it('do not keep a listener waiting whose table has none', async () => {
    publishListeners('one', 'two');
    await answered(ports[1], 'any', 'unknown to two');
  });

  it('are kept over a reconnection, where nothing is sent again but what changed', async () => {
    const xdsPort = bench.port;
    await bench.server?.close(0);
    expect(await ask(ports[0], 'a')).to.equal('a by one');
    bench.events.length = 0;
    publishHosts(['one', 'b'], ['one', 'c']);
    await bench.start({}, xdsPort);
    await answered(ports[0], 'c', 'c by one');
    expect(await ask(ports[0], 'a')).to.equal('unknown');
    expect(await ask(ports[0], 'b')).to.equal('b by one');
    const sent = bench.events.flatMap((event) => (event.type === 'sent' ? [event.typeUrl] : []));
    expect(sent.filter((typeUrl) => typeUrl === LISTENER || typeUrl === ROUTE)).to.deep.equal([]);
    publishHosts(['one', 'b'], ['one', 'd']);
    await answered(ports[0], 'd', 'd by one');
    expect(await ask(ports[0], 'c')).to.equal('unknown');
  });

  it('that are rejected leave the old ones in force, and the repair is taken', async () => {
    bench.source.publish(
      resourceSet(VIRTUAL_HOST, [openHost('one', 'b', 'x'), { ...openHost('one', 'b', 'y'), name: 'one/other' }, clash()]),
    );
    await bench.event(({ type }) => type === 'nacked');
    expect(await ask(ports[0], 'a')).to.equal('a by one');
    publishHosts(['one', 'b'], ['one', 'e']);
    await answered(ports[0], 'e', 'e by one');
    expect(await ask(ports[0], 'a')).to.equal('unknown');
  });

  /** A host of another name for a domain that is taken. */
  function clash() {
    return openHost('one', 'B', 'clash');
  }
});
