import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesClient, WatchCall } from '../../src/io/kubernetes/client.ts';
import { openKubeconfig } from '../../src/io/kubernetes/open-client.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { KubernetesStore } from '../../src/sources/store/kubernetes/kubernetes-store.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { installOpenKinds } from '../harness/cluster-kinds.ts';
import { describeObjectStore, kinds } from './object-store.ts';

/** A client that knows how far the store has got with its watches. */
class ObservedClient implements KubernetesClient {
  readonly server: string;
  readonly #client: KubernetesClient;
  readonly #versions = new Set<string>();
  #closed = false;

  constructor(client: KubernetesClient) {
    this.#client = client;
    this.server = client.server;
    this.request = client.request.bind(client);
  }

  readonly request: KubernetesClient['request'];

  async watch(call: WatchCall): Promise<AsyncIterable<unknown>> {
    return this.#observe(await this.#client.watch(call));
  }

  async taken(object: KubeObject): Promise<void> {
    while (!this.#closed && !this.#versions.has(object.metadata.resourceVersion ?? '')) await sleep(5);
  }

  close(): void {
    this.#closed = true;
    this.#client.close();
  }

  /** That the store asks for the next frame shows that it has dealt with the one before. */
  async *#observe(frames: AsyncIterable<unknown>): AsyncGenerator<unknown, void, undefined> {
    for await (const frame of frames) {
      yield frame;
      const { object } = frame as { readonly object: KubeObject };
      this.#versions.add(object.metadata.resourceVersion ?? '');
    }
  }
}

describe('on a real API server', () => {
  let cluster: TestCluster;
  before(async function () {
    cluster = await requireCluster(this);
    await installOpenKinds(cluster, kinds);
    for (const name of ['foo', 'bar']) cluster.kubectl(['create', 'namespace', name]);
  });
  after(() => {
    cluster?.kubectl(['delete', 'namespace', 'foo', 'bar', '--wait=false']);
  });

  describeObjectStore('kubernetes', async () => {
    const stores: KubernetesStore[] = [];
    const open = (): { readonly store: KubernetesStore; readonly client: ObservedClient } => {
      const deps = { flag: '--orchconfig', env: {}, now: () => new Date() };
      const client = new ObservedClient(openKubeconfig(cluster.kubeconfig, deps));
      const store = new KubernetesStore({
        client,
        kinds,
        sleep: (time, signal) => sleep(time, undefined, { signal }),
        elapsed: () => performance.now(),
        random: Math.random,
      });
      stores.push(store);
      return { store, client };
    };
    const { store, client } = open();
    return {
      store,
      another: async () => open().store,
      taken: (object) => client.taken(object),
      dispose: async () => {
        for (const other of stores) await other.close();
        await removeAll(cluster.client);
      },
    };
  });
});

async function removeAll(client: KubernetesClient): Promise<void> {
  const { apiVersion } = kinds.policy;
  const paths = ['foo', 'bar', 'default'].map((namespace) => `/apis/${apiVersion}/namespaces/${namespace}/policies`);
  for (const path of [...paths, `/apis/${apiVersion}/meshpolicies`]) {
    await client.request({ method: 'DELETE', path, what: `delete ${path}` });
  }
}
