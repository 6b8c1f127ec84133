import { expect } from 'chai';
import type { Service } from '../../../src/model/service.ts';
import { nextSnapshot } from '../../../src/model/snapshot.ts';
import { planOutbound } from '../../../src/xds/outbound-plan.ts';
import { CLUSTER_TYPE, ENDPOINT_TYPE, ROUTE_TYPE } from '../../../src/xds/resource.ts';
import { makeInputs, makePort, makeService } from '../../fakes/model.ts';
import { testTranslator } from '../../harness/mesh-input.ts';

const node = { id: 'sidecar~10.0.0.1~web-1.foo~foo.svc.cluster.local', cluster: 'test', metadata: {} };

describe('an external name', () => {
  const external = (externalName: string, ports = [makePort()]) =>
    makeService({ name: 'outside', addresses: [], selector: undefined, externalName, ports });

  it('is a cluster without endpoints of discovery, reached by the name of its service', () => {
    const snapshot = nextSnapshot(undefined, makeInputs({ services: [external('example.com')] }));
    const translator = testTranslator();
    const names = (type: typeof CLUSTER_TYPE) => [...translator.resources(snapshot, node, type, 'coarse').resources.keys()];
    expect(names(CLUSTER_TYPE)).to.include('outbound|8000||outside.foo.svc.cluster.local');
    expect(names(ENDPOINT_TYPE)).to.deep.equal([]);
    expect(names(ROUTE_TYPE)).to.deep.equal(['8000']);
    expect(translator.problems(snapshot)).to.deep.equal([]);
  });

  const messages = (services: readonly Service[]): readonly string[] => {
    const snapshot = nextSnapshot(undefined, makeInputs({ services }));
    return testTranslator()
      .problems(snapshot)
      .map(({ message }) => message);
  };

  it('that does not speak HTTP is reported', () => {
    const [message] = messages([external('example.com', [makePort({ name: 'mysql', protocol: 'mysql', number: 3306 })])]);
    expect(message).to.match(/^port 3306 speaks mysql, in which nothing tells an external name from any other host/);
  });

  it('that speaks TLS shares its port with others of its kind, and not with HTTP', () => {
    const tls = makePort({ name: 'https', protocol: 'https', number: 443 });
    const other = { ...external('example.com', [tls]), name: 'other', hostname: 'other.foo.svc.cluster.local' };
    const services = [external('example.com', [tls]), other];
    expect(messages(services)).to.deep.equal([]);
    const plan = planOutbound(nextSnapshot(undefined, makeInputs({ services })));
    expect(plan.tls.get(443)?.map(({ service, serverNames }) => `${service.name}: ${serverNames.join(' ')}`)).to.deep.equal([
      'other: other.foo.svc.cluster.local other.foo.svc other.foo example.com',
      'outside: outside.foo.svc.cluster.local outside.foo.svc outside.foo',
    ]);
    const web = makeService({ name: 'web', ports: [makePort({ number: 443 })] });
    expect(messages([...services, web])[0]).to.match(/^port 443 speaks TLS to an external name, but other services speak HTTP/);
  });

  it('of a service of the mesh is reported', () => {
    const web = makeService({ name: 'web' });
    expect(messages([web, external(web.hostname)])).to.deep.equal([
      'names a service of the mesh, web.foo, and is reached in plaintext by whatever address DNS has; call it by its own name',
    ]);
  });
});
