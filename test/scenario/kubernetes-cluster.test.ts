import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { isRunning } from '../../src/lab/process-identity.ts';
import { ownCluster, requireCluster, type TestCluster } from '../harness/cluster.ts';

describe('test cluster', () => {
  let cluster: TestCluster;
  before(async function () {
    cluster = await requireCluster(this);
  });

  it('is Kubernetes 1.36', () => {
    const { serverVersion } = JSON.parse(cluster.kubectl(['version', '-o', 'json']));
    expect(serverVersion.gitVersion).to.equal('v1.36.3');
  });

  it('issues service account tokens, and knows them again', async () => {
    const issued = await cluster.client.request({
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts/default/token',
      what: 'request a token',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['mesh-ca'] } },
    });
    const { token } = (issued as { readonly status: { readonly token: string } }).status;
    const review = (audiences: readonly string[]): Promise<unknown> =>
      cluster.client.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        what: 'review a token',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences } },
      });
    expect(await review(['mesh-ca'])).to.have.nested.property('status.user.username', 'system:serviceaccount:default:default');
    expect(await review(['other'])).to.not.have.nested.property('status.authenticated', true);
  });

  it('makes pods of deployments', function () {
    this.timeout(120_000);
    cluster.kubectl(['create', 'deployment', 'web', '--image=web', '--replicas=2']);
    try {
      cluster.kubectl(['wait', '--for=jsonpath={.status.replicas}=2', '--timeout=100s', 'deployment/web']);
      const { items } = JSON.parse(cluster.kubectl(['get', 'pods', '-l', 'app=web', '-o', 'json']));
      expect(items).to.have.length(2);
    } finally {
      cluster.kubectl(['delete', 'deployment', 'web', '--wait=false']);
    }
  });

  it('stands beside another one, which leaves nothing behind', async function () {
    const other = await ownCluster(this);
    try {
      other.kubectl(['create', 'namespace', 'elsewhere']);
      expect(cluster.kubectl(['get', 'namespaces'])).to.not.include('elsewhere');
      expect(other.kubectl(['get', 'namespaces'])).to.include('elsewhere');
    } finally {
      const processes = other.processes();
      other.stop();
      expect(processes.filter(isRunning)).to.deep.equal([]);
      expect(existsSync(other.directory)).to.equal(false);
    }
  });
});
