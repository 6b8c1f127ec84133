import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { kinds } from '../contract/object-store.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { installOpenKinds } from '../harness/cluster-kinds.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';

const MANIFESTS = `
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: web, namespace: parts}
spec: {targets: [{name: web}], peers: [{mtls: {}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: parts}
spec: {selector: {app: web}, ports: [{name: http, port: 8000}]}
`;

describe('components on a real API server', () => {
  let cluster: TestCluster;
  before(async function () {
    cluster = await requireCluster(this);
    await installOpenKinds(cluster, kinds);
    cluster.kubectl(['create', 'namespace', 'parts']);
  });
  after(() => {
    cluster?.kubectl(['delete', 'namespace', 'parts', '--wait=false']);
  });

  function meshctl(args: readonly string[], input = ''): string {
    const command = ['src/mesh.ts', 'meshctl', ...args, '--orchconfig', cluster.kubeconfig];
    const { stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', input, timeout: 100_000 });
    return `${stdout}${stderr}`.replaceAll(/\d+s\b/g, 'AGE');
  }

  it('meshctl writes what kubectl reads, and the other way round', function () {
    this.timeout(120_000);
    expect(meshctl(['apply', '-f', '-'], MANIFESTS)).to.equal('policy.authentication.mesh.io/web created\nservice/web created\n');
    expect(meshctl(['apply', '-f', '-'], MANIFESTS)).to.equal(
      'policy.authentication.mesh.io/web unchanged\nservice/web unchanged\n',
    );
    expect(cluster.kubectl(['get', 'policies', '-n', 'parts', '-o', 'name'])).to.equal('policy.authentication.mesh.io/web\n');
    cluster.kubectl(['patch', 'policy', 'web', '-n', 'parts', '--type=merge', '-p', '{"spec":{"peers":[]}}']);
    expect(meshctl(['get', 'policy', 'web', '-n', 'parts', '-o', 'yaml'])).to.include('peers: []');
    expect(meshctl(['delete', 'policy', 'web', '-n', 'parts'])).to.equal('policy.authentication.mesh.io "web" deleted\n');
    expect(cluster.kubectl(['get', 'policies', '-n', 'parts', '-o', 'name'])).to.equal('');
    expect(meshctl(['delete', 'policy', 'web', '-n', 'parts'])).to.match(/^error: .*"web" not found\n$/);
  });

  it('pilot-discovery serves what is there, and what comes, through a restart of the API server', async function () {
    this.timeout(120_000);
    cluster.kubectl(['apply', '-f', '-'], MANIFESTS);
    const discovery = await DiscoveryProcess.start({ orchconfig: cluster.kubeconfig });
    const hosts = async (): Promise<string> => (await discovery.page('/debug/registryz')).text();
    const until = async (text: string): Promise<void> => {
      while (!(await hosts()).includes(text)) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    try {
      expect((await discovery.page('/ready')).status).to.equal(200);
      expect(await hosts()).to.include('web.parts.svc.cluster.local');
      cluster.kubectl(['create', 'service', 'clusterip', 'second', '--tcp=80:80', '-n', 'parts']);
      await until('second.parts.svc.cluster.local');
      cluster.killApiServer();
      await discovery.logged('cannot be reached');
      expect(await hosts(), 'the last good state').to.include('second.parts.svc.cluster.local');
      await cluster.startApiServer();
      cluster.kubectl(['create', 'service', 'clusterip', 'third', '--tcp=80:80', '-n', 'parts']);
      await until('third.parts.svc.cluster.local');
    } finally {
      await discovery.stop();
    }
  });
});
