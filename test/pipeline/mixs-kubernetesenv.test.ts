import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { namesFor } from '../../src/lib/names.ts';
import { openKubernetesenv } from '../../src/mixs/adapter/kubernetesenv.ts';
import { serverFlags } from '../../src/mixs/flags.ts';
import { PodIndex } from '../../src/mixs/kubernetes/pod-index.ts';
import { run } from '../../src/mixs/main.ts';
import { kindsFor } from '../../src/model/kinds.ts';
import { KubernetesStore } from '../../src/sources/store/kubernetes/kubernetes-store.ts';
import { adapterEnvironment } from '../fakes/adapter-environment.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { manifest } from '../harness/ca-process.ts';
import { requireCluster } from '../harness/cluster.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { MixerClient } from '../harness/mixer-client.ts';

/** A pod of a Deployment. */
function podOf(deployment: string, labels: Readonly<Record<string, string>>, ip: string): object {
  const metadata = {
    name: `${deployment}-5d4f8-x`,
    namespace: 'foo',
    labels: { ...labels, 'pod-template-hash': '5d4f8' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${deployment}-5d4f8`, uid: '1', controller: true }],
  };
  const containers = [{ name: 'app', image: 'app', ports: [{ containerPort: 8000 }] }];
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { serviceAccountName: 'reader', containers }, status: { podIP: ip } };
}

describe('the kubernetesenv adapter', () => {
  it('makes attributes of what a directory store knows of pods, and follows it', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'mixs-env-'));
    const port = await freePort();
    const kubernetes = {
      sourceUid: 'source.uid | ""',
      sourceIp: 'source.ip | ip("0.0.0.0")',
      destinationIp: 'destination.ip | ip("0.0.0.0")',
      destinationPort: 'destination.port | 0',
      attributeBindings: {
        'source.name': '$out.source_pod_name',
        'source.workload.name': '$out.source_workload_name',
        'source.labels': '$out.source_labels',
        'destination.serviceAccount': '$out.destination_service_account_name',
        'destination.container.name': '$out.destination_container_name',
      },
    };
    const told = [
      'source.name',
      'source.workload.name',
      'source.labels["app"]',
      'destination.serviceAccount',
      'destination.container.name',
    ];
    manifest(
      dir,
      'rules.yaml',
      ruleObject('kubernetesenv', 'env'),
      ruleObject('kubernetes', 'ends', kubernetes),
      ruleObject('rule', 'ends', { actions: [{ handler: 'env.kubernetesenv', instances: ['ends.kubernetes'] }] }),
      ruleObject('rule', 'tell', {
        requestHeaderOperations: told.map((name, index) => ({ name: `x-${index}`, values: [`${name} | "-"`] })),
      }),
    );
    manifest(dir, 'pods.yaml', podOf('sleep', { app: 'sleep' }, '10.0.0.1'), podOf('httpbin', {}, '10.0.0.2'));
    const monitoringPort = await freePort();
    const server = await InProcess.start(run, serverFlags, { configStoreURL: `fs://${dir}`, port, monitoringPort }, 'serving');
    const client = new MixerClient(port);
    try {
      const ask = async (attributes: object): Promise<string> => {
        const { precondition } = await client.check({ ...attributes });
        return (precondition.routeDirective?.updateRequestHeaders ?? []).map(({ value }: { value: string }) => value).join();
      };
      expect(await ask({})).to.equal('-,-,-,-,-');
      const byUid = { 'source.uid': 'kubernetes://sleep-5d4f8-x.foo' };
      while ((await ask(byUid)) !== 'sleep-5d4f8-x,sleep,sleep,-,-');
      const byIp = { 'source.ip': { ip: [10, 0, 0, 1] }, 'destination.ip': { ip: [10, 0, 0, 2] }, 'destination.port': 8000 };
      expect(await ask(byIp)).to.equal('sleep-5d4f8-x,sleep,sleep,reader,app');
      expect(await ask({ 'source.ip': { ip: [10, 0, 0, 9] } })).to.equal('-,-,-,-,-');
      manifest(dir, 'pods.yaml', podOf('other', { app: 'new' }, '10.0.0.1'));
      while ((await ask(byUid)) !== '-,-,-,-,-');
    } finally {
      client.close();
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it('knows the pods of a real API server', async function () {
    const { client } = await requireCluster(this);
    const kinds = kindsFor(namesFor('mesh.io'));
    const store = new KubernetesStore({ client, kinds, sleep: async () => {}, elapsed: () => 0, random: () => 0 });
    const environment = adapterEnvironment();
    const pods = new PodIndex({ store, kind: kinds.pod, logger: environment.logger, signal: environment.signal });
    const handler = openKubernetesenv({}, { ...environment, pods });
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `env-${process.pid}` } };
    const of = `env-${process.pid}`;
    try {
      await store.create(namespace);
      await store.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'reader', namespace: of } });
      await store.create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'lone', namespace: of, labels: { app: 'lone' } },
        spec: { serviceAccountName: 'reader', containers: [{ name: 'app', image: 'app', ports: [{ containerPort: 80 }] }] },
      });
      const find = () => handler.attributes?.({ name: 'ends', destinationUid: `kubernetes://lone.${of}`, destinationPort: 80n });
      while (find()?.destination === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
      expect(find()).to.deep.equal({
        source: undefined,
        destination: {
          podName: 'lone',
          podUid: `kubernetes://lone.${of}`,
          podIp: undefined,
          labels: new Map([['app', 'lone']]),
          namespace: of,
          serviceAccount: 'reader',
          hostIp: undefined,
          owner: `kubernetes://apis/v1/namespaces/${of}/pods/lone`,
          workloadUid: `istio://${of}/workloads/lone`,
          workloadName: 'lone',
          workloadNamespace: of,
          containerName: 'app',
        },
      });
    } finally {
      environment.end();
      await store.delete({ kind: kinds.namespace, name: of });
    }
  });
});
