import { expect } from 'chai';
import { namesFor } from '../../../src/lib/names.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { parseEndpointSlice } from '../../../src/model/parse/endpoint-slice.ts';
import { parseService } from '../../../src/model/parse/service.ts';
import { parseWorkload, workloadPart } from '../../../src/model/parse/workload.ts';
import { protocolOf } from '../../../src/model/protocol.ts';

const names = namesFor('mesh.io');
const metadata = { name: 'httpbin', namespace: 'foo' };

describe('parseService', () => {
  const service = (spec: object): KubeObject => ({ apiVersion: 'v1', kind: 'Service', metadata, spec });

  it('reads ports, addresses and selector', () => {
    const ports = [
      { name: 'grpc-api', port: 9000, targetPort: 'api' },
      { name: 'http', port: 8000, targetPort: 80 },
    ];
    const parsed = parseService(service({ clusterIP: '10.96.0.1', selector: { app: 'httpbin' }, ports }), {
      domain: 'corp.local',
    });
    expect(parsed).to.deep.equal({
      ok: true,
      value: {
        namespace: 'foo',
        name: 'httpbin',
        hostname: 'httpbin.foo.svc.corp.local',
        addresses: ['10.96.0.1'],
        selector: { app: 'httpbin' },
        ports: [
          { name: 'http', number: 8000, targetPort: 80, protocol: 'http' },
          { name: 'grpc-api', number: 9000, targetPort: 'api', protocol: 'grpc' },
        ],
      },
    });
  });

  it('has no address when headless', () => {
    const parsed = parseService(service({ clusterIP: 'None', ports: [{ port: 80 }] }), { domain: 'cluster.local' });
    expect(parsed.ok && parsed.value.addresses).to.deep.equal([]);
  });

  it('refuses names that would mean something else in the configuration', () => {
    const object = { ...service({ ports: [] }), metadata: { name: '*', namespace: 'a.b' } };
    const parsed = parseService(object, { domain: 'cluster.local' });
    expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.path)).to.deep.equal([
      'metadata.name',
      'metadata.namespace',
    ]);
  });

  it('collects every problem with its path', () => {
    const ports = [{ name: 'http', port: 70000 }, { name: 7, port: 80 }, {}];
    const parsed = parseService(service({ selector: { app: true }, ports }), { domain: 'cluster.local' });
    expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.path)).to.deep.equal([
      'spec.ports[0].port',
      'spec.ports[1].name',
      'spec.ports[2].port',
      'spec.selector.app',
    ]);
  });
});

describe('parseService of an external name', () => {
  const external = (externalName: string): KubeObject => ({
    ...{ apiVersion: 'v1', kind: 'Service', metadata },
    spec: {
      type: 'ExternalName',
      externalName,
      clusterIP: '10.0.0.1',
      selector: { app: 'web' },
      ports: [{ name: 'http', port: 80 }],
    },
  });

  it('reads the name and nothing that the API ignores', () => {
    const parsed = parseService(external('api.example.com.'), { domain: 'cluster.local' });
    expect(parsed.ok && parsed.value).to.deep.include({ externalName: 'api.example.com', addresses: [], selector: undefined });
  });

  it('refuses a name that is none', () => {
    const parsed = parseService(external('a b'), { domain: 'cluster.local' });
    expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.path)).to.deep.equal(['spec.externalName']);
  });
});

describe('protocolOf', () => {
  const rows: [string, string | undefined, string][] = [
    ['http', undefined, 'http'],
    ['http-api', undefined, 'http'],
    ['http2-api', undefined, 'http2'],
    ['grpc', undefined, 'grpc'],
    ['https', undefined, 'https'],
    ['tls-x', undefined, 'tls'],
    ['mysql', undefined, 'mysql'],
    ['redis-cache', undefined, 'redis'],
    ['mongo', undefined, 'mongo'],
    ['httpx', undefined, 'tcp'],
    ['', undefined, 'tcp'],
    ['tcp', 'http', 'http'],
    ['http', 'kubernetes.io/h2c', 'http2'],
    ['http', 'example.com/own', 'tcp'],
  ];
  for (const [name, appProtocol, expected] of rows) {
    it(`${name || '(no name)'} with appProtocol ${appProtocol ?? '(none)'} is ${expected}`, () => {
      expect(protocolOf({ transport: 'TCP', name, appProtocol })).to.equal(expected);
    });
  }

  it('never proxies UDP, whatever the port is called', () => {
    expect(protocolOf({ transport: 'UDP', name: 'http' })).to.equal('udp');
  });
});

describe('parseEndpointSlice', () => {
  const slice = (fields: object): KubeObject => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'httpbin' } },
    ...fields,
  });

  it('reads addresses, readiness and pods', () => {
    const endpoints = [
      { addresses: ['10.0.0.1', '10.0.0.2'], conditions: {}, targetRef: { kind: 'Pod', name: 'httpbin-1', namespace: 'foo' } },
      { addresses: ['10.0.0.3'], conditions: { ready: false } },
    ];
    const parsed = parseEndpointSlice(slice({ addressType: 'IPv4', ports: [{ name: 'http', port: 80 }], endpoints }));
    expect(parsed).to.deep.equal({
      ok: true,
      value: {
        namespace: 'foo',
        name: 'httpbin',
        serviceName: 'httpbin',
        ports: [{ name: 'http', number: 80 }],
        endpoints: [
          { address: '10.0.0.1', condition: 'ready', pod: 'foo/httpbin-1' },
          { address: '10.0.0.3', condition: 'unready', pod: undefined },
        ],
      },
    });
  });

  const CONDITIONS: readonly (readonly [object, string])[] = [
    [{}, 'ready'],
    [{ ready: null, serving: null }, 'ready'],
    [{ ready: true, serving: true, terminating: true }, 'ready'],
    [{ ready: false, serving: true, terminating: true }, 'draining'],
    [{ ready: false, serving: true }, 'unready'],
    [{ ready: false, serving: false, terminating: true }, 'unready'],
    [{ ready: false, terminating: true }, 'unready'],
  ];
  for (const [conditions, expected] of CONDITIONS) {
    it(`takes ${JSON.stringify(conditions)} for ${expected}`, () => {
      const parsed = parseEndpointSlice(slice({ addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'], conditions }] }));
      expect(parsed.ok && parsed.value.endpoints[0]?.condition).to.equal(expected);
    });
  }

  it('reads where an endpoint is', () => {
    const endpoints = [{ addresses: ['10.0.0.1'], nodeName: 'n1', zone: 'east-a' }];
    const parsed = parseEndpointSlice(slice({ addressType: 'IPv4', endpoints }));
    expect(parsed.ok && parsed.value.endpoints[0]).to.include({ node: 'n1', zone: 'east-a' });
  });

  it('refuses a slice that belongs to no service', () => {
    const parsed = parseEndpointSlice({ ...slice({}), metadata });
    expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.path)).to.deep.equal(['metadata.labels']);
  });

  it('refuses an address that is none', () => {
    const parsed = parseEndpointSlice(slice({ addressType: 'IPv4', endpoints: [{ addresses: ['nowhere'] }] }));
    expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.path)).to.deep.equal(['endpoints[0].addresses']);
  });
});

describe('parseWorkload', () => {
  const pod: KubeObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, labels: { app: 'httpbin' }, annotations: { 'sidecar.mesh.io/status': '{}' } },
    spec: { serviceAccountName: 'bin', containers: [{ ports: [{ name: 'web', containerPort: 80 }] }] },
    status: {
      phase: 'Running',
      podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  };

  it('reads what the mesh needs to know of a pod', () => {
    expect(parseWorkload(pod, names)).to.deep.equal({
      ok: true,
      value: {
        namespace: 'foo',
        name: 'httpbin',
        addresses: ['10.0.0.1', 'fd00::1'],
        labels: { app: 'httpbin' },
        serviceAccount: 'bin',
        hasSidecar: true,
        ports: [{ name: 'web', number: 80 }],
        ready: true,
        state: 'live',
      },
    });
  });

  it('reads the same from the part of a pod that holds what it reads', () => {
    const more = { image: 'large', env: [{ name: 'A', value: 'b' }], args: ['x'] };
    const rich = {
      ...pod,
      metadata: {
        ...pod.metadata,
        annotations: { ...pod.metadata.annotations, other: 'x' },
        deletionTimestamp: '2030-01-01T00:00:00Z',
      },
      spec: {
        ...(pod['spec'] as object),
        initContainers: [{ ...more, ports: [{ name: 'p', containerPort: 1 }] }, more],
        volumes: [],
      },
      status: { ...(pod['status'] as object), podIP: '10.0.0.1', containerStatuses: [] },
    };
    const hostile = [
      { spec: 'none' },
      { spec: { containers: 'none' } },
      { spec: { containers: [null] }, status: [] },
      { status: undefined },
    ];
    for (const each of [pod, rich, { ...pod, spec: { hostNetwork: true } }, ...hostile.map((fields) => ({ ...pod, ...fields }))])
      expect(parseWorkload(workloadPart(each, names), names)).to.deep.equal(parseWorkload(each, names));
    expect(JSON.stringify(workloadPart(rich, names))).not.to.match(/large|volumes|containerStatuses|other/);
    expect(workloadPart(rich, names).metadata.resourceVersion).to.equal(pod.metadata.resourceVersion);
  });

  it('gives a pod in the host’s network neither address nor sidecar', () => {
    const parsed = parseWorkload({ ...pod, spec: { hostNetwork: true } }, names);
    expect(parsed.ok && [parsed.value.addresses, parsed.value.hasSidecar]).to.deep.equal([[], false]);
  });

  it('knows the sidecar annotation of another mesh domain', () => {
    const parsed = parseWorkload(pod, namesFor('example.org'));
    expect(parsed.ok && parsed.value.hasSidecar).to.equal(false);
  });
});
