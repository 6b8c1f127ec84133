import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { ApiError } from '../../src/io/kubernetes/api-error.ts';
import type { KubernetesClient, WatchCall } from '../../src/io/kubernetes/client.ts';
import { openKubeconfig } from '../../src/io/kubernetes/open-client.ts';
import { KubernetesStore } from '../../src/sources/store/kubernetes/kubernetes-store.ts';
import { kinds, namesAfter, WatchRecorder } from '../contract/object-store.ts';
import { ownCluster, type TestCluster } from '../harness/cluster.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/sidecar.ts';

const NAMESPACE = 'outage';

/** A client whose watches can be held back, and which knows how they were refused. */
class HeldClient implements KubernetesClient {
  readonly server: string;
  readonly refused: string[] = [];
  readonly request: KubernetesClient['request'];
  readonly #client: KubernetesClient;
  #gate = Promise.resolve();

  constructor(client: KubernetesClient) {
    this.#client = client;
    this.server = client.server;
    this.request = client.request.bind(client);
  }

  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return resolve;
  }

  async watch(call: WatchCall): Promise<AsyncIterable<unknown>> {
    await this.#gate;
    try {
      return this.#observe(await this.#client.watch(call));
    } catch (error) {
      if (error instanceof ApiError) this.refused.push(String(error.status));
      throw error;
    }
  }

  close(): void {
    this.#client.close();
  }

  async *#observe(frames: AsyncIterable<unknown>): AsyncGenerator<unknown, void, undefined> {
    for await (const frame of frames) {
      const { type, object } = frame as { readonly type: string; readonly object: { readonly code?: number } };
      if (type === 'ERROR') this.refused.push(String(object.code));
      yield frame;
    }
  }
}

describe('an API server that is away', function () {
  this.timeout(180_000);
  let cluster: TestCluster;

  before(async function () {
    cluster = await ownCluster(this);
    cluster.kubectl(['create', 'namespace', NAMESPACE]);
  });
  after(() => cluster?.stop());

  const create = (name: string): string =>
    cluster.kubectl(['create', 'service', 'clusterip', name, '--tcp=80:80', '-n', NAMESPACE]);

  it('is waited for at the start, with a word why', async () => {
    cluster.killApiServer();
    const ports = { grpc: await freePort(), http: await freePort(), monitoring: await freePort() };
    const discovery = DiscoveryProcess.begin({ orchconfig: cluster.kubeconfig }, ports);
    try {
      const refused = await eventually('an answer', () => discovery.page('/ready'));
      expect(refused.status).to.equal(503);
      expect(await refused.text()).to.include('services, endpoints and pods');
      await discovery.logged('cannot be reached');
      expect(discovery.log).to.match(/cannot list \S+: the API server at https:\S+, given by --orchconfig, cannot be reached/);
      await cluster.startApiServer();
      await discovery.serving();
      expect((await discovery.page('/ready')).status).to.equal(200);
    } finally {
      expect(await discovery.stop()).to.equal(0);
    }
  });

  it('and has forgotten meanwhile what happened is listed anew: nothing is lost', async () => {
    const deps = { flag: '--orchconfig', env: {}, now: () => new Date() };
    const client = new HeldClient(openKubeconfig(cluster.kubeconfig, deps));
    const store = new KubernetesStore({
      client,
      kinds,
      sleep: (time, signal) => sleep(time, undefined, { signal }),
      elapsed: () => performance.now(),
      random: Math.random,
    });
    create('kept');
    create('gone');
    const watch = new WatchRecorder(store, kinds.service, NAMESPACE);
    // A server that has just started may have everything listed twice.
    const knows = (...names: readonly string[]) => watch.until((events) => namesAfter(events).join() === names.join());
    try {
      await knows('gone', 'kept');
      create('last');
      await knows('gone', 'kept', 'last');
      const release = client.hold();
      cluster.killApiServer();
      await cluster.startApiServer();
      cluster.kubectl(['delete', 'service', 'gone', '-n', NAMESPACE]);
      create('meanwhile');
      // What a new server remembers begins with its start.
      cluster.killApiServer();
      await cluster.startApiServer();
      release();
      await knows('kept', 'last', 'meanwhile');
      expect(client.refused).to.include('410');
      expect(watch.told().slice(-2), 'what differs alone').to.deep.equal(['added outage/meanwhile', 'deleted outage/gone']);
      create('after');
      await knows('after', 'kept', 'last', 'meanwhile');
      expect(store.problems()).to.deep.equal([]);
    } finally {
      await watch.stop();
      await store.close();
    }
  });
});
