import { expect } from 'chai';
import { NamePool } from '../../../src/delivery/name-set.ts';
import { PollingProxies } from '../../../src/delivery/polling.ts';
import type { DeliveryEvent, ProxyNode, TypeUrl } from '../../../src/delivery/ports.ts';
import { CLUSTER, ROUTE } from '../../../src/delivery/types.ts';

describe('polling proxies', () => {
  const pool = new NamePool(100);
  const events: DeliveryEvent[] = [];
  let now: number;
  let proxies: PollingProxies;

  beforeEach(() => {
    now = 1_000;
    events.length = 0;
    proxies = new PollingProxies({ observe: (event) => events.push(event), now: () => now, maxProxies: 2 });
  });

  const node = (id: string): ProxyNode => ({ id, cluster: '', metadata: {}, userAgent: '' });

  interface Asked {
    readonly id?: string;
    readonly typeUrl?: TypeUrl;
    readonly names?: readonly string[];
    readonly sequence?: number;
  }
  const poll = (held: string, version: string, { id = 'a', typeUrl = CLUSTER, names = [], sequence = 1 }: Asked = {}) =>
    proxies.answered({ node: node(id), typeUrl, names: pool.of(names), held, version, sequence });
  const types = () => events.splice(0).map((event) => event.type);

  it('takes an answer for sent, and the next request that holds it for the acknowledgement', () => {
    poll('', 'v1');
    expect(types()).to.deep.equal(['connected', 'sent']);
    poll('v1', 'v1');
    expect(types()).to.deep.equal(['acked', 'current']);
    poll('v1', 'v1');
    expect(types()).to.deep.equal([]);
    poll('v1', 'v2', { sequence: 2 });
    poll('v2', 'v2', { sequence: 2 });
    expect(types()).to.deep.equal(['sent', 'acked', 'current']);
  });

  it('takes a proxy that holds everything already for current', () => {
    poll('v1', 'v1');
    expect(types()).to.deep.equal(['connected', 'acked', 'current']);
  });

  it('reports a new snapshot as reached though nothing in it changed for the proxy', () => {
    poll('v1', 'v1');
    events.length = 0;
    poll('v1', 'v1', { sequence: 2 });
    expect(events).to.deep.equal([{ type: 'current', streamId: -1, sequence: 2 }]);
  });

  it('takes it for a rejection when an answer is asked for a third time, and tells once', () => {
    for (let request = 0; request < 6; request += 1) poll('v1', 'v2');
    expect(types()).to.deep.equal(['connected', 'sent', 'nacked']);
    poll('v1', 'v3');
    poll('v3', 'v3');
    expect(types()).to.deep.equal(['sent', 'acked', 'current']);
  });

  it('takes a type for acknowledged when each of its subscriptions is', () => {
    poll('', 'r80', { typeUrl: ROUTE, names: ['80'] });
    poll('', 'r90', { typeUrl: ROUTE, names: ['90'] });
    poll('r80', 'r80', { typeUrl: ROUTE, names: ['80'] });
    expect(types()).to.deep.equal(['connected', 'sent', 'sent']);
    poll('r90', 'r90', { typeUrl: ROUTE, names: ['90'] });
    expect(events.map(({ type }) => type)).to.deep.equal(['acked', 'current']);
  });

  it('believes that a proxy has gone when it stays away several times longer than usual', () => {
    poll('', 'v1');
    now += 20_000;
    poll('v1', 'v1');
    now += 70_000;
    proxies.sweep();
    expect(types()).to.not.include('disconnected');
    now += 20_000;
    proxies.sweep();
    expect(types()).to.deep.equal(['disconnected']);
  });

  it('does not wait for a subscription that has ended', () => {
    poll('', 'r80', { typeUrl: ROUTE, names: ['80'] });
    now += 10_000;
    poll('', 'v1');
    for (let at = 0; at < 5; at += 1) {
      now += 10_000;
      poll('v1', 'v1');
    }
    expect(types()).to.not.include('current');
    proxies.sweep();
    poll('v1', 'v1');
    expect(types()).to.deep.equal(['current']);
  });

  it('forgets the proxy that has been away for longest when there are too many', () => {
    for (const id of ['a', 'b', 'a', 'c']) poll('', 'v1', { id });
    expect(events.filter(({ type }) => type === 'disconnected')).to.deep.equal([
      { type: 'disconnected', streamId: -2, node: node('b') },
    ]);
  });
});
