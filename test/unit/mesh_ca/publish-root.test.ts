import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { followNamespaces, type RootPublisher } from '../../../src/mesh_ca/publish-root.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import type { ObjectStore } from '../../../src/sources/store/object-store.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { NOW } from '../../harness/certificates.ts';

const kinds = kindsFor(namesFor('mesh.io'));
const ROOT = 'the root\n';
const namespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const configMap = (ns: string, data: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'mesh-ca-root-cert', namespace: ns },
  data,
});

/** A memory store that counts writes and can fail them. */
class CountingStore extends MemoryStore {
  writes = 0;
  failing: string | undefined;

  override async create(object: KubeObject): Promise<KubeObject> {
    if (object.kind === 'ConfigMap') this.#count(object);
    return super.create(object);
  }

  override async replace(object: KubeObject): Promise<KubeObject> {
    this.#count(object);
    return super.replace(object);
  }

  #count(object: KubeObject): void {
    if (object.metadata.namespace === this.failing) throw new MeshError('unavailable', 'the API server is away');
    this.writes += 1;
  }
}

describe('publishing the root', () => {
  let store: CountingStore;
  let stop: AbortController;
  let logger: MemoryLogger;
  let root: string;
  let leads: boolean;
  let begin: () => void;
  const leadership = {
    term: () => (leads ? stop.signal : undefined),
    onTerm: (begun: () => void) => {
      begin = begun;
      if (leads) begun();
    },
  };
  beforeEach(async () => {
    store = new CountingStore({ kinds, now: () => NOW, newUid: randomUUID });
    stop = new AbortController();
    logger = new MemoryLogger();
    [root, leads] = [ROOT, true];
    for (const name of ['foo', 'bar']) await store.create(namespace(name));
  });
  afterEach(() => stop.abort());

  const start = (only?: string, over: ObjectStore = store): RootPublisher =>
    followNamespaces({
      store: over,
      kinds,
      rootPem: () => root,
      only,
      leadership,
      random: () => 0.5,
      sleep: (_, signal) => new Promise((__, reject) => signal.addEventListener('abort', reject)),
      logger,
      signal: stop.signal,
    });

  async function published(): Promise<Readonly<Record<string, unknown>>> {
    const maps = await store.list(kinds.configMap);
    return Object.fromEntries(maps.map(({ metadata, data }) => [metadata.namespace, data]));
  }

  it('writes the ConfigMap into every namespace', async () => {
    await start().synced;
    expect(await published()).to.deep.equal({ foo: { 'root-cert.pem': ROOT }, bar: { 'root-cert.pem': ROOT } });
  });

  it('writes only what differs, and keeps other keys', async () => {
    await store.create(configMap('foo', { 'root-cert.pem': ROOT }));
    await store.create(configMap('bar', { 'root-cert.pem': 'old', mine: 'x' }));
    store.writes = 0;
    const publisher = start();
    await publisher.synced;
    expect([store.writes, (await published())['bar']]).to.deep.equal([1, { 'root-cert.pem': ROOT, mine: 'x' }]);
    await publisher.publish();
    expect(store.writes).to.equal(1);
  });

  /** Resolves when the ConfigMap of a namespace holds a text; as soon as it does, or when it changes to that. */
  async function holds(ns: string, text: string): Promise<void> {
    for await (const change of store.watch(kinds.configMap, { namespace: ns, signal: stop.signal })) {
      const maps = change.type === 'listed' ? change.objects : change.type === 'deleted' ? [] : [change.object];
      if (maps.some(({ data }) => (data as Record<string, string>)['root-cert.pem'] === text)) return;
    }
  }

  it('restores what was deleted or changed', async () => {
    await start().synced;
    await store.delete({ kind: kinds.configMap, namespace: 'foo', name: 'mesh-ca-root-cert' });
    await holds('foo', ROOT);
    await store.replace(configMap('bar', { 'root-cert.pem': 'mine' }));
    await holds('bar', ROOT);
  });

  it('is left to the leader, and begins with a term', async () => {
    leads = false;
    await start().synced;
    expect(await published()).to.deep.equal({});
    leads = true;
    begin();
    await Promise.all([holds('foo', ROOT), holds('bar', ROOT)]);
  });

  it('tells which ConfigMaps still hold other roots', async () => {
    const publisher = start();
    expect(publisher.missing()).to.deep.equal(['ConfigMaps that are not listed yet']);
    await publisher.synced;
    root = 'both roots\n';
    await holds('foo', ROOT);
    store.failing = 'bar';
    await new Promise((resolve) => setImmediate(resolve));
    expect(publisher.missing()).to.deep.equal(['ConfigMap bar/mesh-ca-root-cert', 'ConfigMap foo/mesh-ca-root-cert']);
    await publisher.publish();
    await new Promise((resolve) => setImmediate(resolve));
    expect(publisher.missing()).to.deep.equal(['ConfigMap bar/mesh-ca-root-cert']);
  });

  it('reaches a namespace that comes later', async () => {
    await start().synced;
    const changes = store.watch(kinds.configMap, { namespace: 'late', signal: stop.signal });
    await store.create(namespace('late'));
    for await (const change of changes) {
      if (change.type === 'added' || (change.type === 'listed' && change.objects.length > 0)) break;
    }
    expect((await published())['late']).to.deep.equal({ 'root-cert.pem': ROOT });
  });

  it('leaves alone namespaces that are being deleted', async () => {
    const going = { ...namespace('going'), metadata: { name: 'going', deletionTimestamp: '2026-05-01T00:00:00Z' } };
    await store.create(going);
    await start().synced;
    expect(Object.keys(await published())).to.deep.equal(['bar', 'foo']);
  });

  it('keeps to the namespace it listens to', async () => {
    await start('foo').synced;
    expect(Object.keys(await published())).to.deep.equal(['foo']);
  });

  it('goes on with the others when one namespace fails, and tries it again', async () => {
    store.failing = 'bar';
    const publisher = start();
    await publisher.synced;
    expect(Object.keys(await published())).to.deep.equal(['foo']);
    expect(logger.text()).to.contain('the API server is away');
    store.failing = undefined;
    await publisher.publish();
    expect(Object.keys(await published())).to.deep.equal(['bar', 'foo']);
  });
});
