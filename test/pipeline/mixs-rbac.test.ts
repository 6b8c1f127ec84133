/** Roles, from files that change to the answers of a real Envoy with the configuration of a sidecar. */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { roleObject, ruleObject } from '../fakes/rule-objects.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { type LoopbackProxy, startLoopbackProxy } from '../harness/loopback-proxy.ts';
import { manifest } from '../harness/manifest.ts';
import { TestRoot } from '../harness/test-authority.ts';

const REFUSED = '403 PERMISSION_DENIED:roles.rbac.foo:RBAC: permission denied\n';

const RULES = [
  ruleObject('rbac', 'roles', {}, 'foo'),
  ruleObject(
    'authorization',
    'access',
    {
      subject: { user: 'source.principal', properties: { 'source.namespace': 'source.namespace' } },
      action: {
        namespace: 'destination.service.namespace',
        service: 'destination.service.host',
        method: 'request.method',
        path: 'request.url_path',
      },
    },
    'foo',
  ),
  ruleObject('rule', 'roles', { actions: [{ handler: 'roles.rbac', instances: ['access.authorization'] }] }, 'foo'),
];
const reader = (services: readonly string[]): object =>
  roleObject('ServiceRole', 'reader', { rules: [{ services, methods: ['GET'], paths: ['/read/*'] }] });
const readers = (...subjects: readonly object[]): object =>
  roleObject('ServiceRoleBinding', 'readers', { subjects, roleRef: { kind: 'ServiceRole', name: 'reader' } });

/** mixs as a service without a sidecar, on loopback. */
const mixsAt = (port: number): string => `
apiVersion: v1
kind: Service
metadata: {name: mesh-policy, namespace: mesh-system}
spec: {clusterIP: 10.96.0.2, ports: [{name: grpc-mixer, port: 9091}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: mesh-policy-1, namespace: mesh-system, labels: {kubernetes.io/service-name: mesh-policy}}
addressType: IPv4
ports: [{name: grpc-mixer, port: ${port}}]
endpoints: [{addresses: [127.0.0.2]}]
`;

describe('roles of mixs, at a real Envoy', function () {
  this.timeout(120_000);
  let dir: string;
  let mixs: InProcess;
  let proxy: LoopbackProxy;
  let monitoringPort: number;
  const agents = new Map<string, Agent>();

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mixs-rbac-'));
    manifest(dir, 'rules.yaml', ...RULES);
    manifest(dir, 'role.yaml', reader(['httpbin.foo.*']));
    manifest(dir, 'binding.yaml', readers({ user: 'cluster.local/ns/bar/sa/sleep' }));
    const root = await TestRoot.create();
    for (const [name, id] of [
      ['sleep', 'bar/sa/sleep'],
      ['other', 'bar/sa/other'],
    ] as const) {
      const { keyPem, chainPem } = await root.identity({ type: 'uri', value: `spiffe://cluster.local/ns/${id}` });
      const tls = { key: keyPem, cert: chainPem, ca: root.pem, checkServerIdentity: () => undefined };
      agents.set(name, new Agent({ ...tls, ALPNProtocols: ['mesh', 'http/1.1'], keepAlive: true }));
    }
    const port = await freePort();
    monitoringPort = await freePort();
    mixs = await InProcess.start(run, serverFlags, { configStoreURL: `fs://${dir}`, port, monitoringPort }, 'serving');
    const mesh = 'mixerCheckServer: mesh-policy.mesh-system.svc.cluster.local:9091';
    proxy = await startLoopbackProxy({ root, policies: mixsAt(port), mesh });
  });

  after(async () => {
    for (const agent of agents.values()) agent.destroy();
    await proxy?.close();
    expect(await mixs?.stop()).to.equal(0);
    rmSync(dir, { recursive: true, force: true });
  });

  /** Status and body, as a workload with this identity gets them. */
  const ask = (as: string, path = '/read/a', method = 'GET'): Promise<string> =>
    new Promise((resolve, reject) => {
      const target = { host: '127.0.0.1', port: proxy.inboundPort, headers: { host: 'httpbin.foo:8000' } };
      const request = get({ ...target, path, method, agent: agents.get(as) }, (response) => {
        let body = '';
        response.on('data', (chunk) => {
          body += chunk;
        });
        response.on('end', () => resolve(`${response.statusCode} ${body}`));
        response.on('error', reject);
      });
      request.on('error', reject);
    });
  const until = async (as: string, answer: string): Promise<void> => {
    while ((await ask(as)) !== answer);
  };
  const problems = async (): Promise<readonly string[]> => {
    const response = await fetch(`http://127.0.0.1:${monitoringPort}/debug/config`);
    const page = (await response.json()) as { readonly problems: readonly Readonly<Record<string, string>>[] };
    return page.problems.map(({ object, problem, inForce }) => `${object}: ${problem} (${inForce})`);
  };

  it('lets through whom a role is bound to, and nobody else, to what the role is for, and nothing else', async () => {
    await until('sleep', '200 ok');
    expect(await ask('other')).to.equal(REFUSED);
    expect(await ask('sleep', '/write')).to.equal(REFUSED);
    expect(await ask('sleep', '/read/a', 'POST')).to.equal(REFUSED);
    expect(await problems()).to.deep.equal([]);
  });

  it('takes a changed binding without a restart', async () => {
    manifest(dir, 'binding.yaml', readers({ user: 'cluster.local/ns/bar/sa/other' }));
    await until('other', '200 ok');
    expect(await ask('sleep')).to.equal(REFUSED);
    manifest(dir, 'binding.yaml', readers({ properties: { 'source.namespace': 'bar' } }));
    await until('sleep', '200 ok');
    expect(await ask('other')).to.equal('200 ok');
  });

  it('allows nothing by a role that cannot be read or is gone, and tells what is wrong', async () => {
    manifest(dir, 'role.yaml', reader(['httpbin.*.local']));
    while (!(await problems()).join().includes('httpbin.*.local'));
    expect(await ask('sleep')).to.equal(REFUSED);
    expect(await problems()).to.deep.equal([
      'ServiceRole foo/reader: spec.rules[0].services[0]: "httpbin.*.local": a * stands at the beginning or at the end, for any text there (absent)',
      'ServiceRoleBinding foo/readers: spec.roleRef.name: there is no reader.ServiceRole.foo in force (absent)',
    ]);
    manifest(dir, 'role.yaml', reader(['*']));
    await until('sleep', '200 ok');
    rmSync(join(dir, 'role.yaml'));
    await until('sleep', REFUSED);
  });
});
