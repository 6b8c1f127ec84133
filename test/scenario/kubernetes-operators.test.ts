/** What operators ask of a cluster: everything goes through a real API server, to the pods of pilot-discovery too. */
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DeltaDiscoveryRequest } from '#gen/envoy/service/discovery/v3/discovery.ts';
import analyze from '../../src/commands/meshctl/analyze.ts';
import install from '../../src/commands/meshctl/install.ts';
import proxyConfig from '../../src/commands/meshctl/proxy-config.ts';
import proxyStatus from '../../src/commands/meshctl/proxy-status.ts';
import tlsCheck from '../../src/commands/meshctl/tls-check.ts';
import { type DeltaClient, deltaClient } from '../harness/ads-client.ts';
import { ownCluster, type TestCluster } from '../harness/cluster.ts';
import { type CommandRunner, commandRunner } from '../harness/command-runner.ts';
import { OWN_NODE, pod, service, slice } from '../harness/discovery-manifests.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { manifest } from '../harness/manifest.ts';

const CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
/** Made before their namespace is labelled, so that they are not injected. */
const WORKLOADS = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: foo}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: foo, labels: {app: web}}
spec: {containers: [{name: web, image: web}]}
---
apiVersion: v1
kind: Pod
metadata: {name: httpbin-1, namespace: foo, labels: {app: httpbin}, annotations: {sidecar.mesh.io/status: '{"version":"older"}'}}
spec: {containers: [{name: httpbin, image: httpbin}]}
`;
const STRICT = `
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: default, namespace: foo}
spec: {peers: [{mtls: {}}]}
`;
const DENIER = `
apiVersion: config.mesh.io/v1alpha2
kind: denier
metadata: {name: deny, namespace: foo}
spec: {status: {code: 7}}
`;
const RULE = `
apiVersion: config.mesh.io/v1alpha2
kind: rule
metadata: {name: closed, namespace: foo}
spec: {actions: [{handler: deny.denier, instances: [nothing.checknothing]}]}
`;

describe('meshctl for operators, on a real API server', function () {
  this.timeout(180_000);
  let cluster: TestCluster;
  let root: string;
  let run: CommandRunner;

  before(async function () {
    cluster = await ownCluster(this);
    root = await mkdtemp(join(tmpdir(), 'mesh-operators-'));
    const commands = { analyze, install, 'proxy-config': proxyConfig, 'proxy-status': proxyStatus, 'tls-check': tlsCheck };
    run = commandRunner(commands, root, { MESH_ORCHCONFIG: cluster.kubeconfig });
    cluster.kubectl(['apply', '-f', '-'], (await run('install', '--crds')).out);
    cluster.kubectl(['wait', '--for=condition=Established', '--timeout=100s', 'crd', '--all']);
    cluster.kubectl(['create', 'namespace', 'foo']);
    // Nobody will answer for the webhooks of this installation.
    cluster.kubectl(['apply', '-f', '-'], STRICT);
    cluster.kubectl(['apply', '--server-side', '-f', '-'], (await run('install')).out);
    cluster.kubectl(['wait', '--for=create', '--timeout=100s', 'serviceaccount/default', '-n', 'foo']);
    cluster.kubectl(['apply', '-f', '-'], WORKLOADS);
    cluster.kubectl(['label', 'namespace', 'foo', 'mesh-injection=enabled']);
  });
  after(async () => {
    cluster?.stop();
    if (root !== undefined) await rm(root, { recursive: true, force: true });
  });

  interface Found {
    readonly code: string;
    readonly object: { readonly kind: string; readonly namespace?: string; readonly name: string };
    readonly file?: string;
    readonly line?: number;
  }

  async function found(
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly err: string; readonly list: readonly string[] }> {
    const { code, out, err } = await run('analyze', '-o', 'json', ...args);
    const { findings } = JSON.parse(out) as { findings: readonly Found[] };
    const list = findings.map(({ code: name, object, file, line }) =>
      [name, object.kind, object.name, ...(file === undefined ? [] : [`${file}:${line}`])].join(' '),
    );
    return { code, err, list };
  }

  describe('analyze', () => {
    it('finds what is wrong in a cluster that was just installed', async () => {
      const { code, err, list } = await found();
      expect([code, err]).to.deep.equal([1, '']);
      expect(list).to.deep.equal([
        'MESH205 Policy default',
        // Of pods of users, and of those of the control plane itself.
        'MESH603 MutatingWebhookConfiguration mesh-sidecar-injector',
        'MESH603 MutatingWebhookConfiguration mesh-sidecar-injector',
        'MESH603 ValidatingWebhookConfiguration mesh-policy-validation',
        'MESH604 MutatingWebhookConfiguration mesh-sidecar-injector',
        'MESH604 MutatingWebhookConfiguration mesh-sidecar-injector',
        'MESH604 ValidatingWebhookConfiguration mesh-policy-validation',
        // The test's API server publishes no address of its own.
        'MESH402 Service kubernetes',
        // Nobody injects the pods of mixs, so that there are none.
        'MESH402 Service mesh-policy',
        'MESH402 Service mesh-telemetry',
        'MESH701 Pod web-1',
        'MESH702 Pod httpbin-1',
      ]);
    });

    it('finds what a file would do, before it is applied', async () => {
      await writeFile(join(root, 'second.yaml'), STRICT.replace('default', 'second'));
      expect((await found('-f', 'second.yaml')).list).to.deep.equal([
        'MESH201 Policy second second.yaml:2',
        'MESH209 Policy second second.yaml:4',
      ]);
      expect(cluster.kubectl(['get', 'policies', '-n', 'foo', '-o', 'name'])).to.equal('policy.authentication.mesh.io/default\n');
    });

    it('looks at the configuration of mixs, and at files as parts of it', async () => {
      cluster.kubectl(['apply', '-f', '-'], DENIER);
      const { err, list: stored } = await found();
      expect([err, stored.at(-1)]).to.deep.equal(['', 'MESH803 denier deny']);
      await writeFile(join(root, 'rule.yaml'), RULE);
      expect((await found('-f', 'rule.yaml')).list).to.deep.equal(['MESH802 rule closed rule.yaml:5']);
      cluster.kubectl(['delete', '-f', '-'], DENIER);
    });

    it('does with the rights that one has, and says what it could not see', async () => {
      cluster.kubectl(['create', 'serviceaccount', 'dev', '-n', 'foo']);
      const resources = 'services,pods,policies.authentication.mesh.io';
      cluster.kubectl(['create', 'role', 'dev', '-n', 'foo', '--verb=get,list,watch', `--resource=${resources}`]);
      cluster.kubectl(['create', 'rolebinding', 'dev', '-n', 'foo', '--role=dev', '--serviceaccount=foo:dev']);
      const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
      config.users[0].user = { token: cluster.kubectl(['create', 'token', 'dev', '-n', 'foo']).trim() };
      await writeFile(join(root, 'kubeconfig'), JSON.stringify(config));
      const { list, err } = await found('--orchconfig', join(root, 'kubeconfig'), '-n', 'foo');
      expect(list).to.deep.equal(['MESH205 Policy default']);
      expect(err).to.match(/warning: cannot list secrets: .*; findings that need them are left out\n/);
      expect(err).to.match(/warning: cannot list attributemanifests\S*: .*; the same of \d+ more kinds of mixs; findings/);
      const status = await run('proxy-status', '--orchconfig', join(root, 'kubeconfig'));
      expect(status.code).to.equal(1);
      expect(status.err).to.match(/^error: cannot list the pods of pilot-discovery in namespace mesh-system: .*refuses it/);
    });
  });

  it('tls-check tells what callers meet', async () => {
    const { out } = await run('tls-check', 'httpbin-1.foo', 'web.foo');
    expect(out.split('\n')[1]?.split(/ {2,}/)).to.deep.equal([
      'web.foo.svc.cluster.local:80',
      'CONFLICT',
      'HTTP',
      'HTTP',
      'Policy foo/default',
      '-',
    ]);
  });

  describe('proxies', () => {
    let dir: string;
    let replicas: readonly DiscoveryProcess[];
    let node: Server;
    let client: DeltaClient;
    let pods: readonly string[];

    before(async () => {
      dir = mkdtempSync(join(tmpdir(), 'mesh-operators-'));
      manifest(dir, 'mesh.yaml', service(), slice('httpbin', ['10.1.1.1']), pod());
      replicas = [await DiscoveryProcess.start({ orchconfig: dir }), await DiscoveryProcess.start({ orchconfig: dir })];
      const network = new Map(replicas.map(({ ports }, index) => [`10.77.0.${index + 1}:8080`, ports.http]));
      node = await nodeAt(cluster.egressSocket, network);
      cluster.kubectl(['rollout', 'status', 'deployment/mesh-pilot', '-n', 'mesh-system', '--watch=false']);
      pods = cluster
        .kubectl(['get', 'pods', '-n', 'mesh-system', '-l', 'app=mesh-pilot', '-o', 'name'])
        .trim()
        .split('\n')
        .map((name) => name.replace('pod/', ''));
      expect(pods).to.have.lengthOf(2);
      for (const [index, name] of pods.entries()) ready(name, `10.77.0.${index + 1}`);
      client = deltaClient(replicas[1]?.ports.grpc ?? 0);
      client.send(DeltaDiscoveryRequest.fromPartial({ node: OWN_NODE, typeUrl: CLUSTER }));
      const { nonce } = await client.next();
      client.send(DeltaDiscoveryRequest.fromPartial({ typeUrl: CLUSTER, responseNonce: nonce }));
    });
    after(async () => {
      client?.close();
      for (const replica of replicas ?? []) await replica.stop();
      node?.close();
      if (dir !== undefined) rmSync(dir, { recursive: true });
    });

    /** What a kubelet would write. */
    function ready(name: string, podIP: string): void {
      const conditions = [{ type: 'Ready', status: 'True' }];
      const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
      cluster.kubectl(['patch', 'pod', name, '-n', 'mesh-system', '--subresource=status', '-p', JSON.stringify({ status })]);
    }

    it('are listed from all replicas, through the API server', async () => {
      let row: readonly string[] = [];
      // The acknowledgement is on its way.
      do {
        const { out, err } = await run('proxy-status');
        expect(err).to.equal('');
        row = out.split('\n')[1]?.split(/ {2,}/) ?? [];
      } while (row[1] !== 'SYNCED');
      expect(row.slice(0, 6)).to.deep.equal(['httpbin-1.foo', 'SYNCED', 'NOT SENT', 'NOT SENT', 'NOT SENT', pods[1]]);
    });

    it('are shown as discovery configures them, where nobody can get in', async () => {
      const { code, out, err } = await run('proxy-config', 'clusters', 'httpbin-1.foo');
      expect(code, err).to.equal(0);
      expect(out).to.include('outbound|8000||httpbin.foo.svc.cluster.local');
      expect(err).to.equal(
        'warning: the proxy itself cannot be asked: kubectl, which runs commands in pods, is not on the PATH\n' +
          `warning: this is what ${pods[1]} sends to httpbin-1.foo; meshctl proxy-status tells whether it was taken\n`,
      );
      expect((await run('proxy-config', 'secrets', 'httpbin-1.foo')).code).to.equal(1);
    });

    it('are asked themselves through kubectl, where it is', async () => {
      await writeFile(join(root, 'kubectl'), '#!/bin/sh\nfor word; do echo "$word"; done\n', { mode: 0o755 });
      const withKubectl = commandRunner({ 'proxy-config': proxyConfig }, root, { PATH: `${root}:${process.env['PATH']}` });
      const { out, err } = await withKubectl(
        'proxy-config',
        'secrets',
        'httpbin-1.foo',
        '-o',
        'yaml',
        '--orchconfig',
        cluster.kubeconfig,
      );
      expect(err).to.equal('');
      expect(out.trimEnd().split('\n')).to.deep.equal(
        `--kubeconfig ${cluster.kubeconfig} exec --namespace foo httpbin-1 --container mesh-proxy -- mesh pilot-agent debug secrets -o yaml`.split(
          ' ',
        ),
      );
    });

    it('are listed from those replicas that answer', async () => {
      await replicas[0]?.stop();
      const { code, out, err } = await run('proxy-status');
      expect(code, err).to.equal(0);
      expect(out).to.include('httpbin-1.foo');
      expect(err).to.match(new RegExp(`^warning: cannot ask ${pods[0]}.mesh-system for /debug/syncz: `));
    });
  });

  describe('analyze, without the kinds of the mesh', () => {
    it('finds that they are not installed', async () => {
      cluster.kubectl(['delete', 'crd', '--all', '--wait=true']);
      const { code, err, list } = await found();
      expect([code, err]).to.deep.equal([1, '']);
      expect(list.filter((text) => text.startsWith('MESH104'))).to.deep.equal([
        'MESH104 CustomResourceDefinition meshpolicies.authentication.mesh.io',
        'MESH104 CustomResourceDefinition policies.authentication.mesh.io',
      ]);
    });
  });
});

/** The network of pods, as the API server reaches it (HTTP CONNECT): these addresses are ports of this machine. */
async function nodeAt(socket: string, ports: ReadonlyMap<string, number>): Promise<Server> {
  const server = createServer().on('connect', (request, client: Socket) => {
    const port = ports.get(request.url ?? '');
    client.on('error', () => client.destroy());
    if (port === undefined) {
      client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
      return;
    }
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(upstream).pipe(client);
    }).on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return server;
}
