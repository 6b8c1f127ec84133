import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DeltaDiscoveryRequest } from '#gen/envoy/service/discovery/v3/discovery.ts';
import create from '../../src/commands/meshctl/create.ts';
import get from '../../src/commands/meshctl/get.ts';
import install from '../../src/commands/meshctl/install.ts';
import uninstall from '../../src/commands/meshctl/uninstall.ts';
import { deltaClient } from '../harness/ads-client.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { freePort } from '../harness/free-port.ts';
import { runKubectl } from '../harness/kubectl.ts';
import { runMeshctl } from '../harness/meshctl-run.ts';
import { accountKubeconfig } from '../harness/service-account.ts';
import { eventually } from '../harness/sidecar.ts';
import { TestRoot } from '../harness/test-authority.ts';

/** Not the one of the other tests on this cluster: their definitions of kinds are none of ours. */
const DOMAIN = 'policies.test';
const GROUP = `authentication.${DOMAIN}`;
const CONTROL = 'mesh-of-policies';
const NAMESPACE = 'policies-foo';
const ACCOUNT = 'mesh-pilot-service-account';
const WEBHOOK = `mesh-policy-validation-${CONTROL}`;

const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';
const POD_STATUS = JSON.stringify({
  status: { phase: 'Running', podIP: '10.1.1.1', podIPs: [{ ip: '10.1.1.1' }], conditions: [{ type: 'Ready', status: 'True' }] },
});
const workload = () => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'httpbin-1',
    namespace: NAMESPACE,
    labels: { app: 'httpbin' },
    annotations: { [`sidecar.${DOMAIN}/status`]: '{}' },
  },
  spec: { containers: [{ name: 'httpbin', image: 'httpbin' }] },
});

describe('policies on a real API server', function () {
  this.timeout(120_000);
  let cluster: TestCluster;
  let dir: string;
  let discovery: DiscoveryProcess | undefined;

  before(async function () {
    cluster = await requireCluster(this);
    dir = mkdtempSync(join(tmpdir(), 'mesh-policies-'));
    const args = ['--apply', '--mixs', 'none', '--namespace', CONTROL, '--orchconfig', cluster.kubeconfig];
    const { code, err } = await runMeshctl(install, args, { domain: DOMAIN });
    expect(code, err).to.equal(0);
    cluster.kubectl(['create', 'namespace', NAMESPACE]);
    await startDiscovery();
  });

  after(async () => {
    await discovery?.stop();
    if (cluster === undefined) return;
    const args = ['--purge', '--yes', '--namespace', CONTROL, '--orchconfig', cluster.kubeconfig];
    await runMeshctl(uninstall, args, { domain: DOMAIN });
    cluster.kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
    rmSync(dir, { recursive: true, force: true });
  });

  /** As the printed Deployment runs it, with the rights of its account; only its address is another one. */
  async function startDiscovery(): Promise<void> {
    const root = await TestRoot.create();
    const id = `spiffe://cluster.local/ns/${CONTROL}/sa/${ACCOUNT}`;
    const { keyPem, chainPem } = await root.identity({ type: 'uri', value: id }, { type: 'ip', value: '127.0.0.1' });
    const files = { 'cert.pem': chainPem, 'key.pem': keyPem, 'root.pem': root.pem };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    const port = await freePort();
    const clientConfig = { service: null, url: `https://127.0.0.1:${port}/validate` };
    const [webhook] = webhooks();
    const patch = JSON.stringify({ webhooks: [{ ...webhook, clientConfig }] });
    cluster.kubectl(['patch', 'validatingwebhookconfiguration', WEBHOOK, '--type=merge', '-p', patch]);
    discovery = await DiscoveryProcess.start(
      {
        orchconfig: accountKubeconfig(cluster, CONTROL, ACCOUNT),
        namespace: CONTROL,
        validationAddr: `127.0.0.1:${port}`,
        validationWebhookConfig: WEBHOOK,
        tlsCertFile: join(dir, 'cert.pem'),
        tlsKeyFile: join(dir, 'key.pem'),
        caCertFile: join(dir, 'root.pem'),
      },
      undefined,
      { MESH_DOMAIN: DOMAIN, POD_NAME: 'mesh-pilot-1' },
    );
    await eventually('the CA bundle is written', () => webhooks()[0]?.clientConfig.caBundle !== undefined);
  }

  const webhooks = (): readonly { readonly clientConfig: { readonly caBundle?: string } }[] =>
    JSON.parse(cluster.kubectl(['get', 'validatingwebhookconfiguration', WEBHOOK, '-o', 'json'])).webhooks;
  const policy = (name: string, spec: object, kind = 'Policy') => ({
    apiVersion: `${GROUP}/v1alpha1`,
    kind,
    metadata: { name, ...(kind === 'Policy' ? { namespace: NAMESPACE } : {}) },
    spec,
  });
  const apply = async (object: object): Promise<void> => {
    const { code, err } = await runKubectl(cluster, ['apply', '-f', '-'], JSON.stringify(object));
    expect(code, err).to.equal(0);
  };
  /** What kubectl says about a refusal; empty: there was none. */
  const refusal = async (object: object): Promise<string> => {
    const { code, err } = await runKubectl(cluster, ['apply', '-f', '-'], JSON.stringify(object));
    return code === 0 ? '' : err;
  };
  const clear = (): string => cluster.kubectl(['delete', `policies.${GROUP},meshpolicies.${GROUP}`, '--all', '-n', NAMESPACE]);
  afterEach(clear);

  it('are listed by kubectl and meshctl alike', async () => {
    const list = () =>
      runMeshctl(get, [`policies.${GROUP}`, '-n', NAMESPACE, '--orchconfig', cluster.kubeconfig], { domain: DOMAIN });
    const empty = await list();
    expect(empty.out + empty.err).to.equal(`No resources found in ${NAMESPACE} namespace.\n`);
    await apply(policy('default', { peers: [{ mtls: {} }] }));
    expect(cluster.kubectl(['get', `policies.${GROUP}`, '-n', NAMESPACE])).to.match(/^NAME {6}AGE\ndefault {3}\d+s\n$/);
    expect((await list()).out).to.match(/^NAME {6}AGE\ndefault {3}\d+s\n$/);
  });

  it('are refused by the schema, with the field and what is wrong with it', async () => {
    expect(await refusal(policy('x', { peers: [{ mtls: { mode: 'STRICTLY' } }] }))).to.include(
      'spec.peers[0].mtls.mode: Unsupported value: "STRICTLY": supported values: "STRICT", "PERMISSIVE"',
    );
    expect(await refusal(policy('x', { peer: [] }))).to.include('unknown field "spec.peer"');
    expect(await refusal(policy('x', { targets: [{ name: 'a', ports: [{ number: 70000 }] }] }))).to.include(
      'spec.targets[0].ports[0].number',
    );
  });

  it('are refused by pilot-discovery in the words that meshctl has for files', async () => {
    const twice = { jwt: { issuer: 'https://a.example', jwksUri: 'https://a.example/keys' } };
    const bad = policy('x', { origins: [twice, twice] });
    mkdtempSync(join(dir, 'store-'));
    const onFiles = await runMeshctl(create, ['-f', '-', '--orchconfig', dir], { domain: DOMAIN, stdin: JSON.stringify(bad) });
    const words = /error: standard input:1: (.*)/.exec(onFiles.err)?.[1] ?? 'nothing';
    expect(words).to.include('list an issuer once');
    expect(await refusal(bad)).to.include(`admission webhook "policy-validation.${DOMAIN}" denied the request: ${words}`);
    expect(await refusal(policy('other', {}, 'MeshPolicy'))).to.include('must be named "default"');
  });

  it('are refused when they conflict, by whichever command', async () => {
    await apply(policy('older', { targets: [{ name: 'httpbin' }] }));
    const younger = policy('younger', { targets: [{ name: 'httpbin' }], peers: [{ mtls: {} }] });
    const words = `Policy ${NAMESPACE}/younger has no effect on service httpbin.${NAMESPACE}: Policy ${NAMESPACE}/older is older`;
    await eventually('the older one is known', async () => (await refusal(younger)).includes(words));
    const stdin = JSON.stringify(younger);
    const { code, err } = await runMeshctl(create, ['-f', '-', '--orchconfig', cluster.kubeconfig], { domain: DOMAIN, stdin });
    expect(code).to.equal(1);
    expect(err).to.include(words);
  });

  it('say in their status what became of them, to an account that may write nothing else', async () => {
    cluster.kubectl(['create', 'service', 'clusterip', 'httpbin', '--tcp=8000:8000', '-n', NAMESPACE]);
    await apply(policy('default', { peers: [{ mtls: {} }] }));
    const read = () => JSON.parse(cluster.kubectl(['get', `policies.${GROUP}`, 'default', '-n', NAMESPACE, '-o', 'json']));
    const status = () => read().status ?? {};
    const states = (): string =>
      (status().conditions ?? []).map((condition: Record<string, string>) => `${condition.type} ${condition.status}`).join(', ');
    await eventually('the status is written', () => states() === 'Accepted True, Conflicted False, Acknowledged Unknown');
    expect(status()).to.deep.include({ observedGeneration: 1, services: { total: 1, names: [`httpbin.${NAMESPACE}`] } });

    const client = deltaClient(Number(discovery?.ports.grpc));
    const node = { id: `sidecar~10.1.1.1~httpbin-1.${NAMESPACE}~${NAMESPACE}.svc.cluster.local`, cluster: 'httpbin' };
    cluster.kubectl(['apply', '-f', '-'], JSON.stringify(workload()));
    cluster.kubectl(['patch', 'pod', 'httpbin-1', '-n', NAMESPACE, '--subresource=status', '--type=merge', '-p', POD_STATUS]);
    client.send(DeltaDiscoveryRequest.fromPartial({ node, typeUrl: LISTENER }));
    void (async () => {
      for (;;) {
        const { nonce: responseNonce } = await client.next();
        client.send(DeltaDiscoveryRequest.fromPartial({ typeUrl: LISTENER, responseNonce }));
      }
    })().catch(() => {});
    await eventually('the proxy has taken it', () => states().endsWith('Acknowledged True'));
    expect(status().proxies).to.deep.equal([
      { reportedBy: 'mesh-pilot-1', observedGeneration: 1, connected: 1, acknowledged: 1 },
    ]);

    const { resourceVersion } = read().metadata;
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect(read().metadata.resourceVersion, 'it rests').to.equal(resourceVersion);
    client.close();
  });

  it('cannot be changed while nobody can check them, but can be deleted', async () => {
    await apply(policy('default', {}));
    await discovery?.stop();
    try {
      expect(await refusal(policy('default', { peers: [{ mtls: {} }] }))).to.include(`policy-validation.${DOMAIN}`);
      clear();
      cluster.kubectl(['label', 'namespace', NAMESPACE, `${DOMAIN}/policy-validation=disabled`]);
      await eventually('the label is seen', async () => (await refusal(policy('default', {}))) === '');
    } finally {
      cluster.kubectl(['label', 'namespace', NAMESPACE, `${DOMAIN}/policy-validation-`]);
      await startDiscovery();
    }
  });
});
