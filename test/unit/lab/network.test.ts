import { expect } from 'chai';
import { AddressPool } from '../../../src/lab/network/addresses.ts';
import { hostsText } from '../../../src/lab/network/hosts.ts';
import { proxyRules } from '../../../src/lab/network/proxy-rules.ts';

describe('lab addresses', () => {
  const range = { base: '10.0.0.0', bits: 3, reserved: 2 };

  it('gives each address once, without network, node and broadcast', () => {
    const pool = new AddressPool(range);
    const given = [1, 2, 3, 4, 5].map(() => pool.allocate());
    expect(given).to.deep.equal(['10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6']);
    expect(() => pool.allocate()).to.throw('no address is free in 10.0.0.0/29');
  });

  it('gives a released address again only after the others', () => {
    const pool = new AddressPool(range);
    pool.release(pool.allocate());
    expect(pool.allocate()).to.equal('10.0.0.3');
  });

  it('gives the preferred address when it is free and in the range', () => {
    const pool = new AddressPool(range);
    expect(pool.allocate('10.0.0.5')).to.equal('10.0.0.5');
    expect(pool.allocate('10.0.0.5')).to.equal('10.0.0.2');
    expect(pool.allocate('10.1.0.5')).to.equal('10.0.0.3');
    expect(pool.allocate('not-an-address')).to.equal('10.0.0.4');
  });
});

describe('lab service rules', () => {
  const web = (endpoints: readonly string[]) => [
    {
      clusterIp: '10.96.0.9',
      ports: [{ port: 80, protocol: 'TCP' as const, endpoints: endpoints.map((address) => ({ address, port: 8080 })) }],
    },
  ];

  it('spreads connections evenly over the endpoints', () => {
    const rules = proxyRules(web(['10.244.0.4', '10.244.0.2', '10.244.0.3']), '10.244.0.1').split('\n');
    expect(rules.filter((rule) => rule.includes('DNAT'))).to.deep.equal([
      '-A MESH-SERVICES -d 10.96.0.9/32 -p tcp -m tcp --dport 80 -m statistic --mode random --probability 0.3333333333 -j DNAT --to-destination 10.244.0.2:8080',
      '-A MESH-SERVICES -d 10.96.0.9/32 -p tcp -m tcp --dport 80 -m statistic --mode random --probability 0.5000000000 -j DNAT --to-destination 10.244.0.3:8080',
      '-A MESH-SERVICES -d 10.96.0.9/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.0.4:8080',
    ]);
  });

  it('changes the source address only of a pod that reaches itself', () => {
    const rules = proxyRules(web(['10.244.0.2']), '10.244.0.1').split('\n');
    expect(rules.filter((rule) => rule.includes('SNAT'))).to.deep.equal([
      '-A POSTROUTING -s 10.244.0.2/32 -d 10.244.0.2/32 -j SNAT --to-source 10.244.0.1',
    ]);
  });

  it('refuses connections to a service without endpoints at once', () => {
    const rules = proxyRules(web([]), '10.244.0.1');
    expect(rules).to.include(
      '-A MESH-REFUSED -d 10.96.0.9/32 -p tcp -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable',
    );
    expect(rules).not.to.include('DNAT');
  });

  it('does not depend on the order of services and endpoints', () => {
    const one = web(['10.244.0.2', '10.244.0.3']);
    const other = [{ clusterIp: '10.96.0.3', ports: [{ port: 53, protocol: 'UDP' as const, endpoints: [] }] }];
    expect(proxyRules([...one, ...other], '10.244.0.1')).to.equal(
      proxyRules([...other, ...web(['10.244.0.3', '10.244.0.2'])], '10.244.0.1'),
    );
  });
});

describe('lab hosts file', () => {
  const services = [
    { name: 'web', namespace: 'foo', addresses: ['10.96.0.5'] },
    { name: 'db', namespace: 'bar', addresses: ['10.244.0.9', '10.244.0.8'] },
  ];

  it('has the short name in the own namespace only, and every address of a headless service', () => {
    const text = hostsText({ namespace: 'foo', podName: 'sleep-1', podIp: '10.244.0.2', services, domain: 'cluster.local' });
    expect(text.split('\n').slice(2)).to.deep.equal([
      '10.244.0.2\tsleep-1',
      '10.244.0.8\tdb.bar.svc.cluster.local db.bar.svc db.bar',
      '10.244.0.9\tdb.bar.svc.cluster.local db.bar.svc db.bar',
      '10.96.0.5\tweb.foo.svc.cluster.local web.foo.svc web.foo web',
      '',
    ]);
  });
});
