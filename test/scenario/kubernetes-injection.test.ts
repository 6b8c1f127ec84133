/** The webhook called by a real API server. */
import { expect } from 'chai';
import fc from 'fast-check';
import { DEFAULT_INJECTION_CONFIG } from '../../src/injection/default-config.ts';
import { isRecord, type JsonObject } from '../../src/injection/shape.ts';
import { PODS } from '../fakes/pods.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { InjectorUnderTest } from '../harness/injector-under-test.ts';

const NAMESPACE = 'injected';
const CONFIGURATION = 'mesh-sidecar-injector';
const ENTRY = 'sidecar-injector.mesh.io';
const PLAIN = { metadata: {}, spec: { containers: [{ name: 'app', image: 'app' }] } };

interface Pod extends JsonObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } & JsonObject;
  readonly spec: {
    readonly containers: readonly { readonly name: string }[];
    readonly initContainers?: readonly { readonly name: string }[];
  } & JsonObject;
}

describe('injection by a real API server', function () {
  this.timeout(120_000);
  let cluster: TestCluster;
  let injector: InjectorUnderTest;

  before(async function () {
    cluster = await requireCluster(this);
    injector = await InjectorUnderTest.create();
    cluster.kubectl(['create', 'namespace', NAMESPACE]);
    cluster.kubectl(['label', 'namespace', NAMESPACE, 'mesh-injection=enabled']);
    cluster.kubectl(['wait', '--for=create', 'serviceaccount/default', '-n', NAMESPACE, '--timeout=60s']);
    cluster.kubectl(['apply', '-f', '-'], webhook());
    await injector.start({ orchconfig: cluster.kubeconfig });
    await until(async () => (await bundle()) !== '');
  });
  after(async () => {
    cluster?.kubectl(['delete', 'mutatingwebhookconfiguration', CONFIGURATION, '--ignore-not-found']);
    cluster?.kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
    await injector?.remove();
  });

  function webhook(): string {
    return JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: CONFIGURATION },
      webhooks: [
        {
          name: ENTRY,
          clientConfig: { url: `https://127.0.0.1:${injector.port}/inject` },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
          namespaceSelector: { matchLabels: { 'mesh-injection': 'enabled' } },
          sideEffects: 'None',
          reinvocationPolicy: 'IfNeeded',
          admissionReviewVersions: ['v1', 'v1beta1'],
        },
      ],
    });
  }

  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${CONFIGURATION}`;
  async function bundle(): Promise<string> {
    const read = await cluster.client.request({ method: 'GET', path, what: 'read the webhook configuration' });
    const { webhooks } = read as { readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[] };
    return webhooks[0]?.clientConfig.caBundle ?? '';
  }

  async function until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** What the API server would store; with its defaults, checked and admitted, but kept nowhere. */
  async function created(pod: JsonObject): Promise<Pod> {
    const { metadata, spec } = pod;
    const named = { ...(isRecord(metadata) ? metadata : {}), name: 'pod', namespace: NAMESPACE };
    const stored = await cluster.client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`,
      what: 'create a pod',
      body: { apiVersion: 'v1', kind: 'Pod', metadata: named, spec },
    });
    return stored as Pod;
  }

  /** What a pod is once it is stored, without what every creation makes anew: the volume of the token has a random name. */
  function lasting({ metadata, spec }: Pod): unknown {
    const { annotations, labels } = metadata;
    const text = JSON.stringify({ annotations, labels, spec });
    return JSON.parse(text.replace(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access'));
  }

  it('makes pods that it takes, and the same ones when they are injected again', async () => {
    for (const pod of fc.sample(PODS, { seed: 1, numRuns: 40 })) {
      const once = await created(pod);
      expect(once.metadata.annotations).to.have.property('sidecar.mesh.io/status');
      const { metadata, spec } = once;
      const twice = await created({ metadata: { annotations: metadata.annotations, labels: metadata['labels'] }, spec });
      expect(lasting(twice)).to.deep.equal(lasting(once));
    }
  });

  it('gives every pod the proxy as a native sidecar, as this API server has them, unless the pod says no', async () => {
    const named = async (annotations: Record<string, string>, restartPolicy: string) => {
      const { spec } = await created({ metadata: { annotations }, spec: { ...PLAIN.spec, restartPolicy } });
      return [spec.initContainers, spec.containers].map((containers) => containers?.map(({ name }) => name));
    };
    for (const restartPolicy of ['Always', 'Never'])
      expect(await named({}, restartPolicy)).to.deep.equal([['mesh-init', 'mesh-proxy'], ['app']]);
    expect(await named({ 'sidecar.mesh.io/nativeSidecar': 'false' }, 'Always')).to.deep.equal([
      ['mesh-init'],
      ['mesh-proxy', 'app'],
    ]);
  });

  it('replaces what an earlier template added, its own defaults included', async () => {
    const earlier = DEFAULT_INJECTION_CONFIG.replaceAll('mesh-podinfo', 'mesh-old').replaceAll('mesh/proxy', 'old/proxy');
    injector.write('inject', earlier);
    await until(async () => JSON.stringify(await created(PLAIN)).includes('mesh-old'));
    const pods = fc.sample(PODS, { seed: 2, numRuns: 10 });
    const old: Pod[] = [];
    for (const pod of pods) old.push(await created(pod));
    injector.write('inject', DEFAULT_INJECTION_CONFIG);
    await until(async () => !JSON.stringify(await created(PLAIN)).includes('mesh-old'));
    for (const [index, { metadata, spec }] of old.entries()) {
      const upgraded = await created({ metadata: { annotations: metadata.annotations, labels: metadata['labels'] }, spec });
      const text = JSON.stringify(lasting(upgraded));
      expect(text).not.to.match(/mesh-old|old\/proxy/);
      expect(text.length).to.equal(JSON.stringify(lasting(await created(pods[index] ?? {}))).length);
    }
  });

  it('keeps the CA bundle when it is edited, and when the configuration is deleted and made anew', async () => {
    const good = await bundle();
    const edit = JSON.stringify([{ op: 'remove', path: '/webhooks/0/clientConfig/caBundle' }]);
    cluster.kubectl(['patch', 'mutatingwebhookconfiguration', CONFIGURATION, '--type=json', '-p', edit]);
    await until(async () => (await bundle()) === good);
    cluster.kubectl(['delete', 'mutatingwebhookconfiguration', CONFIGURATION]);
    cluster.kubectl(['create', '-f', '-'], webhook());
    await until(async () => (await bundle()) === good);
    await until(async () => JSON.stringify(await created(PLAIN)).includes('mesh-proxy'));
  });

  it('tells whoever creates a pod why it is refused', async () => {
    const refused = created({ ...PLAIN, metadata: { annotations: { 'sidecar.mesh.io/logLevel': 'loud' } } });
    const message = await refused.then(
      () => '',
      (error: Error) => error.message,
    );
    expect(message).to.contain(`admission webhook "${ENTRY}" denied the request: pod ${NAMESPACE}/pod: annotation`);
  });

  it('follows the failure policy while the injector is down', async () => {
    await injector.remove();
    const down = await created(PLAIN).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(down).to.contain(`failed calling webhook "${ENTRY}"`);
    const ignore = JSON.stringify([{ op: 'add', path: '/webhooks/0/failurePolicy', value: 'Ignore' }]);
    cluster.kubectl(['patch', 'mutatingwebhookconfiguration', CONFIGURATION, '--type=json', '-p', ignore]);
    await until(async () => (await created(PLAIN).catch(() => undefined)) !== undefined);
    expect((await created(PLAIN)).spec.containers.map(({ name }) => name)).to.deep.equal(['app']);
  });
});
