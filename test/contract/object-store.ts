import { expect } from 'chai';
import { MeshError } from '../../src/lib/errors.ts';
import { namesFor } from '../../src/lib/names.ts';
import { kindsFor } from '../../src/model/kinds.ts';
import type { KubeObject } from '../../src/model/object.ts';
import type { ObjectStore, WatchEvent } from '../../src/sources/store/object-store.ts';

export const kinds = kindsFor(namesFor('mesh.io'));

/** A store under test, and other stores on the same objects where the implementation has such a thing. */
export interface StoreHarness {
  readonly store: ObjectStore;
  /** Another client of the same objects; the store itself where there is only one. */
  another(): Promise<ObjectStore>;
  /**
   * Resolves when every watch that was open has taken in a change, which others must be waited for to do: the object as the change left
   * it. Absent where writing tells the watches.
   */
  taken?(last: KubeObject): Promise<void>;
  dispose(): Promise<void>;
}

export function service(name: string, namespace: string, port = 80): KubeObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ports: [{ name: 'http', port }] } };
}

/** An object that no store knows more of than its name: what is given is what is stored. */
export function policy(name: string, namespace: string, port = 80): KubeObject {
  return {
    apiVersion: kinds.policy.apiVersion,
    kind: 'Policy',
    metadata: { name, namespace },
    spec: { ports: [{ name: 'http', port }] },
  };
}

/** The MeshError code that a promise is rejected with, or `resolved`. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'resolved';
  } catch (error) {
    return error instanceof MeshError ? error.code : String(error);
  }
}

/** Collects the events of a watch; `until` resolves once a condition on them holds. */
export class WatchRecorder {
  readonly events: WatchEvent[] = [];
  readonly #controller = new AbortController();
  readonly #done: Promise<void>;
  #changed = Promise.withResolvers<void>();

  constructor(store: ObjectStore, kind = kinds.service, namespace?: string) {
    const { signal } = this.#controller;
    this.#done = this.#run(store.watch(kind, namespace === undefined ? { signal } : { signal, namespace }));
  }

  async #run(events: AsyncIterable<WatchEvent>): Promise<void> {
    for await (const event of events) {
      this.events.push(event);
      this.#changed.resolve();
      this.#changed = Promise.withResolvers<void>();
    }
  }

  async until(condition: (events: readonly WatchEvent[]) => boolean): Promise<void> {
    while (!condition(this.events)) await this.#changed.promise;
  }

  /** Events as `added foo/a`; a list as `listed foo/a foo/b`. */
  told(): readonly string[] {
    const name = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;
    return this.events.map((event) =>
      event.type === 'listed' ? ['listed', ...event.objects.map(name)].join(' ') : `${event.type} ${name(event.object)}`,
    );
  }

  /** Ends the watch; rejects when the watch did. */
  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#done;
  }
}

/** The names of the objects that there are after some events, sorted. */
export function namesAfter(events: readonly WatchEvent[]): readonly string[] {
  const names = new Set<string>();
  for (const event of events) {
    if (event.type === 'listed') {
      names.clear();
      for (const { metadata } of event.objects) names.add(metadata.name);
    } else if (event.type === 'deleted') names.delete(event.object.metadata.name);
    else names.add(event.object.metadata.name);
  }
  return [...names].sort();
}

/** What every store promises; `open` gives an empty one. */
export function describeObjectStore(name: string, open: () => Promise<StoreHarness>): void {
  describe(`object store: ${name}`, () => {
    let harness: StoreHarness;
    let store: ObjectStore;

    beforeEach(async () => {
      harness = await open();
      store = harness.store;
    });
    afterEach(() => harness.dispose());

    describe('create', () => {
      it('gives the object uid, resourceVersion and creationTimestamp, and get returns it', async () => {
        const created = await store.create(policy('a', 'foo'));
        expect(created.metadata.uid).to.be.a('string').with.length.greaterThan(0);
        expect(created.metadata.resourceVersion).to.be.a('string').with.length.greaterThan(0);
        expect(created.metadata.creationTimestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(created.spec).to.deep.equal({ ports: [{ name: 'http', port: 80 }] });
        expect(await store.get({ kind: kinds.policy, namespace: 'foo', name: 'a' })).to.deep.equal(created);
      });

      it('refuses what exists', async () => {
        await store.create(policy('a', 'foo'));
        expect(await codeOf(store.create(policy('a', 'foo', 81)))).to.equal('already_exists');
      });

      it('takes one of several at the same time', async () => {
        const clients = [store, await harness.another(), await harness.another()];
        const codes = await Promise.all(
          clients.flatMap((client) => [80, 81].map((port) => codeOf(client.create(policy('a', 'foo', port))))),
        );
        expect(codes.filter((code) => code === 'resolved')).to.have.length(1);
        expect(codes.filter((code) => code === 'already_exists')).to.have.length(5);
      });

      it('puts namespaced objects without a namespace into "default"', async () => {
        const { namespace: _, ...metadata } = policy('a', 'foo').metadata;
        await store.create({ ...policy('a', 'foo'), metadata });
        expect((await store.get({ kind: kinds.policy, namespace: 'default', name: 'a' })).metadata.namespace).to.equal('default');
      });

      it('keeps objects of kinds without namespaces', async () => {
        const { apiVersion, kind } = kinds.meshPolicy;
        await store.create({ apiVersion, kind, metadata: { name: 'foo' } });
        const found = await store.get({ kind: kinds.meshPolicy, name: 'foo' });
        expect(found.metadata).to.not.have.property('namespace');
      });

      it('refuses an unknown kind and a bad name', async () => {
        expect(await codeOf(store.create({ ...policy('a', 'foo'), kind: 'Polcy' }))).to.equal('invalid');
        expect(await codeOf(store.create(policy('A_b', 'foo')))).to.equal('invalid');
        expect(await codeOf(store.create(policy('../../etc', 'foo')))).to.equal('invalid');
        expect(await codeOf(store.create(policy('a', '../foo')))).to.equal('invalid');
        expect(await store.list(kinds.policy)).to.deep.equal([]);
      });

      it('keeps every text, number and list as it was given', async () => {
        const data = {
          a: 'yes',
          b: '0400',
          c: '2001-01-01',
          d: 'x: y\n  z\n',
          e: '',
          f: ' lead',
          g: 'ünï\u2028',
          h: '---\n',
          i: '1e3',
          j: '\t',
        };
        const object = {
          ...policy('a', 'foo'),
          spec: { data, list: [[1, [2.5, -0.25]], [], {}, null, true], big: 12345678901 },
        };
        const created = await store.create(object);
        expect(created.spec).to.deep.equal(object.spec);
        expect((await (await harness.another()).get({ kind: kinds.policy, namespace: 'foo', name: 'a' })).spec).to.deep.equal(
          object.spec,
        );
      });
    });

    describe('list', () => {
      it('is sorted by namespace and name, and of one namespace if asked', async () => {
        for (const [name, namespace] of [
          ['b', 'foo'],
          ['a', 'foo'],
          ['z', 'bar'],
        ] as const)
          await store.create(policy(name, namespace));
        const names = (objects: readonly KubeObject[]): readonly string[] =>
          objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
        expect(names(await store.list(kinds.policy))).to.deep.equal(['bar/z', 'foo/a', 'foo/b']);
        expect(names(await store.list(kinds.policy, 'foo'))).to.deep.equal(['foo/a', 'foo/b']);
        expect(await store.list(kinds.meshPolicy)).to.deep.equal([]);
      });
    });

    describe('get', () => {
      it('says not_found', async () => {
        expect(await codeOf(store.get({ kind: kinds.policy, namespace: 'foo', name: 'a' }))).to.equal('not_found');
      });

      it('sees what another client wrote', async () => {
        await (await harness.another()).create(policy('a', 'foo'));
        expect((await store.get({ kind: kinds.policy, namespace: 'foo', name: 'a' })).metadata.name).to.equal('a');
      });
    });

    describe('replace', () => {
      it('keeps uid and creationTimestamp and gives a new resourceVersion', async () => {
        const created = await store.create(policy('a', 'foo'));
        const replaced = await store.replace(policy('a', 'foo', 81));
        expect(replaced.metadata.uid).to.equal(created.metadata.uid);
        expect(replaced.metadata.creationTimestamp).to.equal(created.metadata.creationTimestamp);
        expect(replaced.metadata.resourceVersion).to.not.equal(created.metadata.resourceVersion);
        expect(await store.get({ kind: kinds.policy, namespace: 'foo', name: 'a' })).to.deep.equal(replaced);
      });

      it('keeps the resourceVersion of what does not change', async () => {
        const created = await store.create(policy('a', 'foo'));
        expect(await store.replace(policy('a', 'foo'))).to.deep.equal(created);
      });

      it('says not_found for what does not exist', async () => {
        expect(await codeOf(store.replace(policy('a', 'foo')))).to.equal('not_found');
      });

      it('refuses a change made from another version', async () => {
        const created = await store.create(policy('a', 'foo'));
        await store.replace({ ...created, spec: { ports: [] } });
        expect(await codeOf(store.replace({ ...created, spec: { ports: [{ port: 1 }] } }))).to.equal('conflict');
      });

      it('takes one of several changes made from the same version', async () => {
        const created = await store.create(policy('a', 'foo'));
        const clients = [store, await harness.another(), await harness.another()];
        const codes = await Promise.all(
          clients.map((client, port) => codeOf(client.replace({ ...created, spec: { ports: [{ port: port + 1 }] } }))),
        );
        expect(codes.toSorted()).to.deep.equal(['conflict', 'conflict', 'resolved']);
      });

      it('loses no change of clients that read, change and try again', async () => {
        await store.create({ ...policy('a', 'foo'), spec: { count: 0 } });
        const clients = [store, await harness.another(), await harness.another()];
        const ref = { kind: kinds.policy, namespace: 'foo', name: 'a' };
        const increment = async (client: ObjectStore): Promise<void> => {
          const object = await client.get(ref);
          const { count } = object.spec as { count: number };
          const code = await codeOf(client.replace({ ...object, spec: { count: count + 1 } }));
          if (code === 'conflict') return increment(client);
          expect(code).to.equal('resolved');
        };
        await Promise.all(
          clients.map(async (client) => {
            for (let i = 0; i < 4; i++) await increment(client);
          }),
        );
        expect((await store.get(ref)).spec).to.deep.equal({ count: 12 });
      });
    });

    describe('delete', () => {
      it('removes the object, for every client', async () => {
        await store.create(policy('a', 'foo'));
        await store.delete({ kind: kinds.policy, namespace: 'foo', name: 'a' });
        expect(await store.list(kinds.policy)).to.deep.equal([]);
        expect(await (await harness.another()).list(kinds.policy)).to.deep.equal([]);
      });

      it('says not_found for what does not exist', async () => {
        expect(await codeOf(store.delete({ kind: kinds.policy, namespace: 'foo', name: 'a' }))).to.equal('not_found');
      });
    });

    describe('watch', () => {
      it('lists first, then tells of each change in order', async () => {
        await store.create(policy('a', 'foo'));
        const watch = new WatchRecorder(store, kinds.policy);
        await watch.until((events) => events.length === 1);
        await store.create(policy('b', 'foo'));
        await watch.until((events) => events.length === 2);
        await store.replace(policy('a', 'foo', 81));
        await watch.until((events) => events.length === 3);
        await store.delete({ kind: kinds.policy, namespace: 'foo', name: 'b' });
        await watch.until((events) => events.length === 4);
        await watch.stop();
        expect(watch.told()).to.deep.equal(['listed foo/a', 'added foo/b', 'modified foo/a', 'deleted foo/b']);
      });

      it('tells nothing of what does not change', async () => {
        await store.create(policy('a', 'foo'));
        const watch = new WatchRecorder(store, kinds.policy);
        await watch.until((events) => events.length === 1);
        await store.replace(policy('a', 'foo'));
        await store.create(policy('b', 'foo'));
        await watch.until((events) => events.length > 1);
        await watch.stop();
        expect(watch.told()).to.deep.equal(['listed foo/a', 'added foo/b']);
      });

      it('tells of what other clients do', async () => {
        const other = await harness.another();
        const watch = new WatchRecorder(store, kinds.policy);
        await watch.until((events) => events.length === 1);
        await other.create(policy('a', 'foo'));
        await watch.until((events) => events.length === 2);
        await other.delete({ kind: kinds.policy, namespace: 'foo', name: 'a' });
        await watch.until((events) => events.length === 3);
        await watch.stop();
        expect(watch.told()).to.deep.equal(['listed', 'added foo/a', 'deleted foo/a']);
      });

      it('keeps to its kind and namespace', async () => {
        const watch = new WatchRecorder(store, kinds.policy, 'foo');
        await watch.until((events) => events.length === 1);
        await store.create(policy('a', 'bar'));
        await store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'foo' }, data: {} });
        await store.create(policy('b', 'foo'));
        await watch.until((events) => events.length > 1);
        await watch.stop();
        expect(watch.told()).to.deep.equal(['listed', 'added foo/b']);
      });

      it('folds what a slow consumer has not taken', async () => {
        await store.create(policy('old', 'foo'));
        await store.create(policy('kept', 'foo'));
        const controller = new AbortController();
        const events = store.watch(kinds.policy, { signal: controller.signal })[Symbol.asyncIterator]();
        expect((await events.next()).value).to.have.property('type', 'listed');
        for (const port of [1, 2, 3]) await store.replace(policy('kept', 'foo', port));
        await store.create(policy('brief', 'foo'));
        await store.delete({ kind: kinds.policy, namespace: 'foo', name: 'brief' });
        await store.delete({ kind: kinds.policy, namespace: 'foo', name: 'old' });
        await store.create(policy('new', 'foo', 1));
        const last = await store.replace(policy('new', 'foo', 2));
        await harness.taken?.(last);
        const told: string[] = [];
        for (let i = 0; i < 3; i++) {
          const { value } = await events.next();
          told.push(`${value.type} ${value.object.metadata.name} ${value.object.spec.ports[0].port}`);
        }
        expect(told.toSorted()).to.deep.equal(['added new 2', 'deleted old 80', 'modified kept 3']);
        const pending = events.next();
        controller.abort();
        expect(await pending).to.have.property('done', true);
      });

      it('ends without an error when it is aborted, also before it began', async () => {
        const watch = new WatchRecorder(store, kinds.policy);
        await watch.until((events) => events.length === 1);
        await watch.stop();
        const events = store.watch(kinds.policy, { signal: AbortSignal.abort() })[Symbol.asyncIterator]();
        expect(await events.next()).to.have.property('done', true);
      });

      it('ends when the store is closed', async () => {
        const watch = new WatchRecorder(store, kinds.policy);
        await watch.until((events) => events.length === 1);
        await store.close();
        await watch.stop();
        expect(watch.told()).to.deep.equal(['listed']);
      });

      it('begins a second watch with the list as it is then', async () => {
        const first = new WatchRecorder(store, kinds.policy);
        await first.until((events) => events.length === 1);
        await store.create(policy('a', 'foo'));
        await first.until((events) => events.length === 2);
        const second = new WatchRecorder(store, kinds.policy);
        await second.until((events) => events.length === 1);
        await first.stop();
        await second.stop();
        expect(second.told()).to.deep.equal(['listed foo/a']);
      });
    });
  });
}
