import { expect } from 'chai';
import install from '../../src/commands/meshctl/install.ts';
import uninstall from '../../src/commands/meshctl/uninstall.ts';
import { silentLogger } from '../../src/io/log/logger.ts';
import { namesFor } from '../../src/lib/names.ts';
import { kindsFor } from '../../src/model/kinds.ts';
import { openStore } from '../../src/sources/store/open.ts';
import { keepCaBundle } from '../../src/sources/webhook-ca-bundle.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { type MeshctlResult, runMeshctl } from '../harness/meshctl-run.ts';
import { eventually } from '../harness/sidecar.ts';
import { TestRoot } from '../harness/test-authority.ts';

/** Not the one of the other tests on this cluster: their definitions of kinds are none of ours. */
const DOMAIN = 'install.test';
const GROUP = `authentication.${DOMAIN}`;
const NAMESPACE = 'mesh-under-install';

describe('meshctl install --apply', function () {
  this.timeout(120_000);
  let cluster: TestCluster;
  before(async function () {
    cluster = await requireCluster(this);
  });

  const run = (command: typeof install, args: readonly string[], stdin = ''): Promise<MeshctlResult> =>
    runMeshctl(command, ['--orchconfig', cluster.kubeconfig, '--namespace', NAMESPACE, ...args], { domain: DOMAIN, stdin });
  const apply = (...args: readonly string[]): Promise<MeshctlResult> => run(install, ['--apply', '--mixs', 'none', ...args]);
  const applyWithMixs = (...args: readonly string[]): Promise<MeshctlResult> => run(install, ['--apply', ...args]);
  const remove = (...args: readonly string[]): Promise<MeshctlResult> => run(uninstall, args);
  const wordsOf = ({ out }: MeshctlResult): readonly string[] => [
    ...new Set(
      out
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ').slice(1).join(' ')),
    ),
  ];

  afterEach(async () => {
    await remove('--purge', '--yes');
    cluster.kubectl(['wait', '--for=delete', `namespace/${NAMESPACE}`, '--timeout=60s']);
  });

  const kubectl = (...args: readonly string[]): string => cluster.kubectl([...args, '-n', NAMESPACE]);
  const edit = (resource: string, patch: object): string =>
    kubectl('patch', ...resource.split('/'), '--type=merge', '-p', JSON.stringify(patch), '--field-manager=kubectl-edit');

  it('makes everything in an order that works, and changes nothing the second time', async () => {
    const first = await applyWithMixs();
    expect(first.code, first.err).to.equal(0);
    expect(wordsOf(first)).to.deep.equal(['created']);
    const kinds = first.out.split('\n').map((line) => line.split('/')[0] ?? '');
    expect(kinds[0]).to.equal('namespace');
    expect(kinds.indexOf('deployment.apps')).to.be.greaterThan(kinds.lastIndexOf('service'));
    expect(kinds.at(-3)).to.match(/webhookconfiguration/);
    expect(first.out.trimEnd()).to.match(/\ndeployment\.apps\/mesh-mixs created$/);
    const second = await applyWithMixs();
    expect(second.err).to.equal('');
    expect(wordsOf(second)).to.deep.equal(['unchanged']);
  });

  it('tells what it would do and does nothing, on a cluster with and without an installation', async () => {
    const before = await apply('--dry-run', 'server');
    expect([before.err, before.code, wordsOf(before)]).to.deep.equal(['', 0, ['created (server dry run)']]);
    expect(cluster.kubectl(['get', 'namespaces', '-o', 'name'])).not.to.include(NAMESPACE);
    await apply();
    expect(wordsOf(await apply('--dry-run', 'server'))).to.deep.equal(['unchanged (server dry run)']);
    const other = await apply('--dry-run', 'server', '--image', 'mesh:2');
    expect(other.out).to.include('deployment.apps/mesh-pilot configured (server dry run)');
    expect(kubectl('get', 'deployment', 'mesh-pilot', '-o', 'yaml')).not.to.include('mesh:2');
  });

  it('leaves the configuration to the user from the first edit on, and until then brings it up to date', async () => {
    await apply();
    const mesh = (): string => kubectl('get', 'configmap', 'mesh', '-o', 'jsonpath={.data.mesh}');
    edit('configmap/mesh', { data: { mesh: 'authPolicy: MUTUAL_TLS\n' } });
    const again = await apply('--force-conflicts');
    expect(again.out).to.include('configmap/mesh kept: changed by kubectl-edit');
    expect([again.code, again.err, mesh()]).to.deep.equal([0, '', 'authPolicy: MUTUAL_TLS\n']);
  });

  it('leaves the CA bundle alone that the owner of a webhook has written', async () => {
    await apply();
    const { names, kinds } = { names: namesFor(DOMAIN), kinds: kindsFor(namesFor(DOMAIN)) };
    const options = { flag: '--orchconfig', kinds, env: {}, cwd: '/', now: () => new Date(), newUid: () => '' };
    const store = openStore(cluster.kubeconfig, options);
    const stop = new AbortController();
    const bundle = (): string =>
      kubectl(
        'get',
        'mutatingwebhookconfiguration',
        'mesh-sidecar-injector',
        '-o',
        'jsonpath={.webhooks[0].clientConfig.caBundle}',
      );
    const { pem } = await TestRoot.create();
    const keeper = keepCaBundle(pem, {
      store,
      kind: kinds.mutatingWebhookConfiguration,
      configuration: 'mesh-sidecar-injector',
      entry: names.webhookName,
      logger: silentLogger,
      signal: stop.signal,
    });
    try {
      await eventually('the CA bundle is written', () => bundle() !== '');
      expect(wordsOf(await apply())).to.deep.equal(['unchanged']);
      expect(bundle()).to.equal(Buffer.from(pem).toString('base64'));
    } finally {
      stop.abort();
      await keeper.done;
      await store.close();
    }
  });

  it('reports a field that somebody else has set, with its owner, and takes it when told to', async () => {
    await apply();
    edit('deployment/mesh-pilot', { spec: { replicas: 5 } });
    const replicas = (): string => kubectl('get', 'deployment', 'mesh-pilot', '-o', 'jsonpath={.spec.replicas}');
    const refused = await apply('--image', 'mesh:2');
    expect(refused.code).to.equal(1);
    expect(refused.err).to.equal(
      `error: Deployment ${NAMESPACE}/mesh-pilot is left as it is: .spec.replicas is set by kubectl-edit; ` +
        'give --force-conflicts to take these fields over\n',
    );
    expect(refused.out).to.include('deployment.apps/mesh-sidecar-injector configured');
    expect(replicas()).to.equal('5');
    const forced = await apply('--image', 'mesh:2', '--force-conflicts');
    expect([forced.code, forced.err, replicas()]).to.deep.equal([0, '', '2']);
  });

  it('removes what an earlier version installed, and nothing else', async () => {
    await apply();
    const label = `install.${DOMAIN}/control-plane`;
    const account = (name: string, labels: object): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, labels } });
    cluster.kubectl(['create', '-n', NAMESPACE, '-f', '-'], account('old', { [label]: NAMESPACE }));
    cluster.kubectl(['create', '-n', NAMESPACE, '-f', '-'], account('of-another', { [label]: 'elsewhere' }));
    cluster.kubectl(['create', '-n', NAMESPACE, '-f', '-'], account('users', {}));
    const again = await apply('--replicas', '1');
    const deleted = again.out.split('\n').filter((line) => line.endsWith(' deleted'));
    expect(deleted).to.have.members([
      'serviceaccount/old deleted',
      'poddisruptionbudget.policy/mesh-pilot deleted',
      'poddisruptionbudget.policy/mesh-sidecar-injector deleted',
    ]);
    expect(kubectl('get', 'serviceaccounts', '-o', 'name'))
      .to.include('users')
      .and.to.include('of-another');
  });

  it('waits until everything is available, and says what is missing when it has waited long enough', async () => {
    const tooLate = await apply('--wait', '--timeout', '1s');
    expect(tooLate.code).to.equal(1);
    expect(tooLate.err).to.match(/^waiting for Deployment mesh-under-install\/mesh-pilot: /m);
    expect(tooLate.err).to.match(/^error: Deployment mesh-under-install\/mesh-pilot is not ready after 1s: 0 of 2 pods/m);
    const waiting = apply('--wait', '-o', 'json');
    const pods: string[] = [];
    while (pods.length < 5) {
      pods.splice(
        0,
        pods.length,
        ...kubectl('get', 'pods', '-o', 'name')
          .split('\n')
          .filter((name) => name !== ''),
      );
    }
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(0) }] };
    for (const pod of pods) kubectl('patch', pod, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));
    const { code, out, err } = await waiting;
    expect([code, err]).to.deep.equal([0, '']);
    expect(JSON.parse(out)).to.have.property('succeeded', true);
    expect(JSON.parse(out).objects[0]).to.deep.equal({
      apiVersion: 'v1',
      kind: 'Namespace',
      name: NAMESPACE,
      result: 'unchanged',
    });
  });

  it('prints manifests that kubectl takes in its strictest mode', async () => {
    cluster.kubectl(['create', 'namespace', NAMESPACE]);
    const apply = ['apply', '--server-side', '--validate=strict', '-f', '-'];
    const { out: definitions } = await runMeshctl(install, ['--crds'], { domain: DOMAIN });
    const { out } = await runMeshctl(install, ['--namespace', NAMESPACE], { domain: DOMAIN });
    const names = cluster.kubectl([...apply, '-o', 'name'], definitions);
    cluster.kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...names.trim().split('\n')]);
    const answer = cluster.kubectl([...apply, '--dry-run=server'], out);
    expect(answer.trimEnd().split('\n')).to.have.length(out.split(/^---$/m).length - 1);
  });

  it('goes along with what kubectl has applied on the server side', async () => {
    const byKubectl = ['apply', '--server-side', '-f', '-'];
    const { out } = await runMeshctl(install, ['--mixs', 'none', '--namespace', NAMESPACE], { domain: DOMAIN });
    cluster.kubectl(byKubectl, out);
    const { code, err } = await apply();
    expect([code, err]).to.deep.equal([0, '']);
    cluster.kubectl(byKubectl, out);
  });

  it('leaves rules to the user from the first edit on, and removes the others together with mixs', async () => {
    await applyWithMixs();
    const rule = `rule.config.${DOMAIN}/request-log`;
    edit(rule, { spec: { match: 'response.code >= 400' } });
    const again = await applyWithMixs('--force-conflicts');
    expect([again.code, again.err]).to.deep.equal([0, '']);
    expect(again.out).to.include(`${rule} kept: changed by kubectl-edit`);
    const without = await apply();
    expect(without.code, without.err).to.equal(0);
    expect(without.out).to.include('configmap/mesh configured').and.include('deployment.apps/mesh-mixs deleted');
    expect(kubectl('get', `rules.config.${DOMAIN},policies.${GROUP}`, '-o', 'name')).to.equal(`${rule}\n`);
  });

  it('does not remove mixs while a configuration that is the user`s has sidecars call it', async () => {
    await applyWithMixs();
    const mesh = (text: string): string => edit('configmap/mesh', { data: { mesh: text } });
    mesh(`mixerCheckServer: mesh-policy.${NAMESPACE}.svc.cluster.local:9091\n`);
    const refused = await apply();
    expect([refused.code, refused.out]).to.deep.equal([1, '']);
    expect(refused.err).to.include('has sidecars call mesh-policy: take mixerCheckServer');
    expect((await run(uninstall, [], 'n\n')).err).to.include('warning: sidecars ask mixs');
    mesh('authPolicy: MUTUAL_TLS\n');
    expect((await apply()).out).to.include('deployment.apps/mesh-mixs deleted');
  });

  it('does not take the pods of another control plane over by the way', async () => {
    await apply();
    const second = ['--apply', '--mixs', 'none', '--orchconfig', cluster.kubeconfig, '--namespace', 'second-under-install'];
    const refused = await runMeshctl(install, second, { domain: DOMAIN });
    expect([refused.code, refused.out]).to.deep.equal([1, '']);
    expect(refused.err).to.include(`a control plane is installed in namespace ${NAMESPACE}`);
    expect(cluster.kubectl(['get', 'namespaces', '-o', 'name'])).not.to.include('second-under-install');
  });

  it('is undone by uninstall, which asks, and keeps policies, configuration and the key of the authority', async () => {
    cluster.kubectl(['create', 'namespace', NAMESPACE]);
    await apply('--crds');
    const policy = { apiVersion: `${GROUP}/v1alpha1`, kind: 'Policy', metadata: { name: 'default' }, spec: {} };
    await eventually('the policy is stored', () => {
      cluster.kubectl(['apply', '-n', NAMESPACE, '-f', '-'], JSON.stringify(policy));
      return true;
    });
    await apply();
    kubectl('create', 'secret', 'generic', 'mesh-ca-secret');
    const refused = await run(uninstall, [], 'n\n');
    expect([refused.code, refused.out]).to.deep.equal([1, '']);
    expect(refused.err).to.include('deployment.apps/mesh-pilot').and.include('nothing was changed');
    const { code, out, err } = await run(uninstall, [], 'y\n');
    expect(code, err).to.equal(0);
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).to.match(/^\w+webhookconfiguration\.\S+ deleted$/);
    expect(lines.filter((line) => line.includes(' kept: ')).map((line) => line.replace(/ kept: .*/, ''))).to.have.members([
      'configmap/mesh',
      'configmap/mesh-sidecar-injector',
      `customresourcedefinition.apiextensions.k8s.io/policies.${GROUP}`,
      `customresourcedefinition.apiextensions.k8s.io/meshpolicies.${GROUP}`,
      'secret/mesh-ca-secret',
      `namespace/${NAMESPACE}`,
    ]);
    expect(kubectl('get', 'deployments,services,serviceaccounts,roles,rolebindings', '-o', 'name')).to.equal(
      'serviceaccount/default\n',
    );
    expect(cluster.kubectl(['get', 'clusterroles,clusterrolebindings', '-o', 'name'])).not.to.include(NAMESPACE);
    expect(kubectl('get', `policies.${GROUP}`, '-o', 'name')).to.equal(`policy.${GROUP}/default\n`);
  });

  it('is purged without a trace, but for a namespace that others live in', async () => {
    await apply();
    kubectl('create', 'secret', 'generic', 'mesh-ca-secret');
    kubectl('create', 'secret', 'generic', 'mesh.users', `--type=${DOMAIN}/key-and-cert`);
    kubectl('create', 'configmap', 'mesh-ca-root-cert');
    kubectl('create', 'deployment', 'theirs', '--image=x');
    const { code, out } = await remove('--purge', '--yes');
    expect(code).to.equal(0);
    expect(out).to.include(`namespace/${NAMESPACE} kept: Deployment ${NAMESPACE}/theirs is in it, which is not of the mesh`);
    expect(kubectl('get', 'secrets,deployments', '-o', 'name')).to.equal('deployment.apps/theirs\n');
    expect(kubectl('get', 'configmaps', '-o', 'name')).to.equal('configmap/kube-root-ca.crt\n');
    expect(cluster.kubectl(['get', 'crds', '-o', 'name'])).not.to.include(GROUP);
    kubectl('delete', 'deployment', 'theirs');
  });
});
