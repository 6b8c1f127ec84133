import { expect } from 'chai';
import { createKubernetesClient } from '../../../../../src/io/kubernetes/client.ts';
import { type Duration, seconds } from '../../../../../src/lib/duration.ts';
import type { KubeObject } from '../../../../../src/model/object.ts';
import { KubernetesStore } from '../../../../../src/sources/store/kubernetes/kubernetes-store.ts';
import { kinds, WatchRecorder } from '../../../../contract/object-store.ts';
import { FakeClock } from '../../../../fakes/clock.ts';
import { ScriptedApi, type ScriptedCall } from '../../../../fakes/scripted-api.ts';

type Fields = Readonly<Record<string, unknown>>;

const object = (name: string, version: number, more: Fields = {}): Fields => ({
  metadata: { name, namespace: 'foo', resourceVersion: String(version), ...more },
});
const list = (version: number, names: readonly string[], next?: string): Fields => ({
  kind: 'ServiceList',
  metadata: { resourceVersion: String(version), ...(next === undefined ? {} : { continue: next }) },
  items: names.map((name) => object(name, version)),
});
const change = (type: string, name: string, version: number): Fields => ({ type, object: object(name, version) });
const bookmark = (version: number): Fields => ({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version) } } });
const failed = (code: number, message: string): Fields => ({ kind: 'Status', code, message, reason: 'Expired' });

describe('watching an API server', () => {
  let api: ScriptedApi;
  let clock: FakeClock;
  let store: KubernetesStore;
  let watch: WatchRecorder | undefined;
  let random: number;
  let reported: string[][];
  beforeEach(async () => {
    api = await ScriptedApi.start();
    clock = new FakeClock('2030-01-01T00:00:00Z');
    random = 0;
    reported = [];
    watch = undefined;
    store = open();
  });
  afterEach(async () => {
    await watch?.stop();
    await store.close();
    await api.stop();
  });

  function open(more: { readonly resync?: Duration } = {}): KubernetesStore {
    const sleep: FakeClock['sleep'] = (time, signal) => clock.sleep(time, signal);
    return new KubernetesStore({
      ...more,
      client: createKubernetesClient({
        access: { server: { url: api.url, insecure: false }, user: { name: 'me', impersonate: {} } },
        flag: '--orchconfig',
        env: {},
        now: () => clock.now(),
        sleep,
        userAgent: 'mesh/test',
        maxAnswerBytes: 10_000,
      }),
      kinds,
      sleep,
      elapsed: () => clock.elapsed(),
      random: () => random,
      onProblem: (problems) =>
        reported.push(problems.map(({ path, message }) => `${path}: ${message}`.replaceAll(api.url, 'API'))),
    });
  }

  function start(namespace?: string): WatchRecorder {
    watch = new WatchRecorder(store, kinds.service, namespace);
    return watch;
  }

  /** The next call, which must be a list. */
  async function listCall(): Promise<ScriptedCall> {
    const call = await api.next();
    expect(call.query.get('watch'), 'a list').to.equal(null);
    return call;
  }

  /** The next call, which must be a watch from this version on; it is agreed to. */
  async function watchCall(version: number): Promise<ScriptedCall> {
    const call = await api.next();
    expect(call.query.get('watch'), 'a watch').to.equal('true');
    expect(call.query.get('resourceVersion')).to.equal(String(version));
    return call.open();
  }

  const seen = (recorder: WatchRecorder, count: number): Promise<void> => recorder.until((events) => events.length === count);

  it('lists all pages of one moment, then watches from there', async () => {
    const recorder = start('foo');
    const first = await listCall();
    expect(first.path).to.equal('/api/v1/namespaces/foo/services');
    expect(first.query.toString()).to.equal('limit=500');
    first.answer(200, list(7, ['b'], 'token/1'));
    const second = await listCall();
    expect(second.query.get('continue')).to.equal('token/1');
    second.answer(200, list(7, ['a']));
    const watching = await watchCall(7);
    expect(watching.path).to.equal('/api/v1/namespaces/foo/services');
    expect(watching.query.get('allowWatchBookmarks')).to.equal('true');
    expect(watching.query.get('timeoutSeconds')).to.equal('300');
    watching.send(change('ADDED', 'c', 8), change('MODIFIED', 'a', 9), change('DELETED', 'b', 10));
    await seen(recorder, 4);
    expect(recorder.told()).to.deep.equal(['listed foo/a foo/b', 'added foo/c', 'modified foo/a', 'deleted foo/b']);
    expect(reported).to.deep.equal([]);
  });

  it('goes on after the end of a watch where bookmarks and changes had brought it', async () => {
    const recorder = start();
    (await listCall()).answer(200, list(7, []));
    const first = await watchCall(7);
    first.send(change('ADDED', 'a', 8), bookmark(20)).end();
    const second = await watchCall(20);
    second.send(change('ADDED', 'b', 21)).end();
    await watchCall(21);
    expect(recorder.told()).to.deep.equal(['listed', 'added foo/a', 'added foo/b']);
  });

  it('watches for twice as long at most, not all at once', async () => {
    random = 0.5;
    start();
    (await listCall()).answer(200, list(7, []));
    expect((await watchCall(7)).query.get('timeoutSeconds')).to.equal('450');
  });

  it('lists again when it has missed too much, in the middle of a watch too', async () => {
    const recorder = start();
    (await listCall()).answer(200, list(7, ['a']));
    (await watchCall(7)).send(change('ADDED', 'b', 8), { type: 'ERROR', object: failed(410, 'too old resource version') }).end();
    await clock.wakeNext();
    (await listCall()).answer(200, list(50, ['c']));
    await watchCall(50);
    await seen(recorder, 5);
    expect(recorder.told()).to.deep.equal(['listed foo/a', 'added foo/b', 'added foo/c', 'deleted foo/a', 'deleted foo/b']);
    expect(reported, 'no problem: the protocol is so').to.deep.equal([]);
  });

  it('lists again when a watch is refused as too old', async () => {
    start();
    (await listCall()).answer(200, list(7, []));
    (await api.next()).answer(410, failed(410, 'too old'));
    await clock.wakeNext();
    (await listCall()).answer(200, list(50, []));
    await watchCall(50);
  });

  it('begins a list anew that has become too old between its pages', async () => {
    const recorder = start();
    (await listCall()).answer(200, list(7, ['a'], 'one'));
    (await listCall()).answer(410, failed(410, 'continue token expired'));
    (await listCall()).answer(200, list(9, ['b']));
    await watchCall(9);
    expect(recorder.told()).to.deep.equal(['listed foo/b']);
  });

  it('takes fewer objects at a time when they are huge', async () => {
    const recorder = start();
    const huge = { ...list(7, ['a']), padding: 'x'.repeat(20_000) };
    (await listCall()).answer(200, huge);
    const second = await listCall();
    expect(second.query.get('limit')).to.equal('50');
    second.answer(200, list(7, ['a']));
    await watchCall(7);
    expect(recorder.told()).to.deep.equal(['listed foo/a']);
  });

  it('drops what a broken connection left half said, and asks for it again', async () => {
    const recorder = start();
    (await listCall()).answer(200, list(7, []));
    const first = await watchCall(7);
    first.send(change('ADDED', 'a', 8)).write(JSON.stringify(change('ADDED', 'b', 9)).slice(0, 30));
    await seen(recorder, 2);
    first.breakOff();
    await clock.wakeNext();
    (await watchCall(8)).send(change('ADDED', 'b', 9));
    await seen(recorder, 3);
    expect(recorder.told()).to.deep.equal(['listed', 'added foo/a', 'added foo/b']);
  });

  it('puts a slow frame together', async () => {
    const recorder = start();
    (await listCall()).answer(200, list(7, []));
    const call = await watchCall(7);
    const bytes = Buffer.from(`${JSON.stringify(change('ADDED', 'ä', 8))}\n`);
    for (const byte of bytes) call.write(Uint8Array.of(byte));
    await seen(recorder, 2);
    expect(recorder.told()).to.deep.equal(['listed', 'added foo/ä']);
  });

  const RUBBISH: readonly (readonly [string, string])[] = [
    ['no JSON', '<html>\n'],
    ['an unknown type', `${JSON.stringify(change('NEWS', 'a', 8))}\n`],
    ['an object without a name', `${JSON.stringify({ type: 'ADDED', object: { metadata: { resourceVersion: '8' } } })}\n`],
    ['no version', `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'a', namespace: 'foo' } } })}\n`],
    ['no object', '17\n'],
  ];
  for (const [title, text] of RUBBISH) {
    it(`begins anew after ${title}`, async () => {
      const recorder = start();
      (await listCall()).answer(200, list(7, []));
      (await watchCall(7)).write(text);
      await clock.wakeNext();
      (await listCall()).answer(200, list(9, ['a']));
      await watchCall(9);
      expect(recorder.told()).to.deep.equal(['listed', 'added foo/a']);
    });
  }

  it('waits longer from failure to failure, at most 30 s, and reports what is wrong until it is not', async () => {
    start();
    const waits: number[] = [];
    for (let failure = 0; failure < 8; failure += 1) {
      (await listCall()).answer(500, failed(500, 'etcd is down'));
      waits.push(await clock.sleeping());
      await clock.wakeNext();
    }
    expect(waits).to.deep.equal([400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000]);
    expect(reported).to.deep.equal([['services: cannot list services: etcd is down']]);
    expect(store.problems()).to.have.length(1);
    (await listCall()).answer(200, list(7, []));
    const watching = await watchCall(7);
    watching.send(bookmark(8)).end();
    await watchCall(8);
    expect(reported[1]).to.deep.equal([]);
    expect(store.problems()).to.deep.equal([]);
  });

  it('does not take its own end for the end of trouble', async () => {
    const recorder = start();
    (await listCall()).answer(500, failed(500, 'no'));
    await clock.sleeping();
    await recorder.stop();
    expect(reported).to.deep.equal([['services: cannot list services: no']]);
    expect(store.problems()).to.deep.equal([]);
  });

  it('spreads its waits over twice the time', async () => {
    random = 0.999_999;
    start();
    (await listCall()).answer(500, failed(500, 'x'));
    expect(await clock.sleeping()).to.be.closeTo(800, 1);
  });

  it('is patient again once something has come through', async () => {
    const recorder = start();
    for (let failure = 0; failure < 4; failure += 1) {
      (await listCall()).answer(500, failed(500, 'x'));
      await clock.wakeNext();
    }
    (await listCall()).answer(200, list(7, []));
    const watching = await watchCall(7);
    watching.send(change('ADDED', 'a', 8));
    await seen(recorder, 2);
    watching.breakOff();
    expect(await clock.sleeping()).to.equal(400);
  });

  it('waits as long as the server asks', async () => {
    start();
    (await listCall()).answer(200, list(7, []));
    (await api.next()).answer(429, failed(429, 'later'), { 'retry-after': '9' });
    expect(await clock.sleeping()).to.equal(9_000);
  });

  it('does not hammer a server that ends every watch at once', async () => {
    start();
    (await listCall()).answer(200, list(7, []));
    (await watchCall(7)).end();
    await clock.wakeNext();
    (await watchCall(7)).end();
    expect(await clock.sleeping()).to.equal(800);
    expect(reported.at(-1)).to.deep.equal(['services: cannot watch services: the API server ended the watch at once']);
  });

  it('lists again when the server goes on refusing the watch', async () => {
    start();
    (await listCall()).answer(200, list(700, []));
    for (let refusal = 0; refusal < 3; refusal += 1) {
      (await api.next()).answer(504, failed(504, 'Too large resource version'));
      await clock.wakeNext();
    }
    (await listCall()).answer(200, list(5, []));
    await watchCall(5);
  });

  it('takes a kind that the server does not have for an empty one, until it has', async () => {
    const recorder = start();
    (await listCall()).answer(404, '404 page not found');
    await seen(recorder, 1);
    expect(reported[0]?.[0]).to.include('install their custom resource definition');
    await clock.wakeNext();
    (await listCall()).answer(200, list(7, ['a']));
    await watchCall(7);
    expect(recorder.told()).to.deep.equal(['listed', 'added foo/a']);
  });

  it('keeps what it knows when the server forgets the kind', async () => {
    const recorder = start();
    (await listCall()).answer(200, list(7, ['a']));
    (await watchCall(7)).send({ type: 'ERROR', object: failed(410, 'x') });
    for (let miss = 0; miss < 5; miss += 1) {
      await clock.wakeNext();
      (await listCall()).answer(404, '404 page not found');
    }
    expect(await clock.sleeping(), 'asks often').to.equal(2_500);
    expect(recorder.told()).to.deep.equal(['listed foo/a']);
  });

  it('keeps one change for each object of a consumer who takes none', async () => {
    const controller = new AbortController();
    const events = store.watch(kinds.service, { signal: controller.signal })[Symbol.asyncIterator]();
    const first = events.next();
    (await listCall()).answer(200, list(7, []));
    await first;
    const watching = await watchCall(7);
    for (let version = 8; version < 1_008; version += 1) watching.send(change('MODIFIED', `a${version % 2}`, version));
    watching.end();
    await watchCall(1_007);
    const versions: unknown[] = [];
    for (let count = 0; count < 2; count += 1) {
      const { value } = await events.next();
      versions.push((value as { readonly object: KubeObject }).object.metadata.resourceVersion);
    }
    expect(versions).to.deep.equal(['1006', '1007']);
    const pending = events.next();
    controller.abort();
    expect(await pending).to.have.property('done', true);
  });

  describe('with a resync interval', () => {
    beforeEach(async () => {
      await store.close();
      store = open({ resync: seconds(60) });
    });

    /** A list with the version of each object, which is what tells whether it has changed. */
    const versions = (version: number, objects: Readonly<Record<string, number>>, next?: string): Fields => ({
      ...list(version, [], next),
      items: Object.entries(objects).map(([name, own]) => object(name, own)),
    });

    it('compares everything with a new list after it, tells what differs, and watches from there', async () => {
      const recorder = start();
      (await listCall()).answer(200, versions(7, { a: 3, b: 4, c: 5 }));
      const first = await watchCall(7);
      first.send(change('MODIFIED', 'a', 8)).end();
      const second = await watchCall(8);
      expect(await clock.sleeping()).to.equal(60_000);
      await clock.wakeNext();
      await second.closed;
      (await listCall()).answer(200, versions(50, { a: 8, c: 40 }, 'page 2'));
      (await listCall()).answer(200, versions(50, { missed: 30 }));
      await watchCall(50);
      await seen(recorder, 5);
      const changes = ['modified foo/a', 'modified foo/c', 'added foo/missed', 'deleted foo/b'];
      expect(recorder.told()).to.deep.equal(['listed foo/a foo/b foo/c', ...changes]);
      expect(await clock.sleeping(), 'and so on').to.equal(60_000);
      expect(reported).to.deep.equal([]);
    });

    it('tells nothing when nothing differs, again and again', async () => {
      const recorder = start();
      (await listCall()).answer(200, versions(7, { a: 3, b: 4 }));
      await watchCall(7);
      for (const version of [50, 60]) {
        await clock.wakeNext();
        (await listCall()).answer(200, versions(version, { a: 3, b: 4 }));
        await watchCall(version);
      }
      expect(recorder.told()).to.deep.equal(['listed foo/a foo/b']);
    });

    it('takes nothing for gone that a list which broke off did not have', async () => {
      const recorder = start();
      (await listCall()).answer(200, versions(7, { a: 3, b: 4, c: 5 }));
      await watchCall(7);
      await clock.wakeNext();
      (await listCall()).answer(200, versions(50, { a: 9 }, 'page 2'));
      (await listCall()).answer(410, failed(410, 'continue token expired'));
      (await listCall()).answer(200, versions(60, { a: 9, b: 4 }));
      await watchCall(60);
      await seen(recorder, 3);
      expect(recorder.told()).to.deep.equal(['listed foo/a foo/b foo/c', 'modified foo/a', 'deleted foo/c']);
    });

    it('keeps what it knows when the list fails', async () => {
      const recorder = start();
      (await listCall()).answer(200, list(7, ['a']));
      await watchCall(7);
      await clock.wakeNext();
      (await listCall()).answer(500, failed(500, 'no'));
      await clock.wakeNext();
      expect(reported).to.deep.equal([['services: cannot list services: no']]);
      (await listCall()).answer(200, list(9, ['b']));
      (await watchCall(9)).send(change('ADDED', 'c', 10));
      await seen(recorder, 4);
      expect(recorder.told()).to.deep.equal(['listed foo/a', 'added foo/b', 'deleted foo/a', 'added foo/c']);
      expect(reported.at(-1)).to.deep.equal([]);
    });

    it('does not list all kinds at once', async () => {
      random = 0.5;
      start();
      (await listCall()).answer(200, list(7, []));
      await watchCall(7);
      expect(await clock.sleeping()).to.equal(63_000);
    });

    it('leaves no timer behind', async () => {
      const recorder = start();
      (await listCall()).answer(200, list(7, []));
      (await watchCall(7)).send(bookmark(8)).end();
      await watchCall(8);
      await recorder.stop();
      await store.close();
      let sleeping = false;
      void clock.sleeping().then(() => {
        sleeping = true;
      });
      await new Promise(setImmediate);
      expect(sleeping).to.equal(false);
    });
  });

  it('hangs up when its consumer goes', async () => {
    const recorder = start();
    (await listCall()).answer(200, list(7, []));
    const watching = await watchCall(7);
    await recorder.stop();
    await watching.closed;
  });

  it('gives a consumer what it reads of an object, and no more', async () => {
    const reduce = ({ apiVersion, kind, metadata: { name, resourceVersion = '' } }: KubeObject): KubeObject => {
      return { apiVersion, kind, metadata: { name, namespace: 'foo', resourceVersion } };
    };
    const controller = new AbortController();
    const events = store.watch(kinds.service, { reduce, signal: controller.signal })[Symbol.asyncIterator]();
    const first = events.next();
    (await listCall()).answer(200, { ...list(7, []), items: [object('a', 1, { labels: { long: 'text' } })] });
    const left = (name: string, resourceVersion: string) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'foo', resourceVersion },
    });
    expect((await first).value).to.deep.equal({ type: 'listed', objects: [left('a', '1')] });
    (await watchCall(7)).send({ type: 'ADDED', object: object('b', 8, { labels: { long: 'text' } }) });
    expect((await events.next()).value).to.deep.equal({ type: 'added', object: left('b', '8') });
    controller.abort();
  });

  it('drops what nobody reads', async () => {
    const recorder = start();
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{"long":"text"}' };
    const managedFields = [{ manager: 'kubectl' }];
    (await listCall()).answer(200, {
      metadata: { resourceVersion: '7' },
      items: [object('a', 1, { managedFields, annotations }), object('b', 2, { annotations: { ...annotations, own: 'x' } })],
    });
    await seen(recorder, 1);
    const [event] = recorder.events;
    expect(event).to.deep.equal({
      type: 'listed',
      objects: [
        { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a', namespace: 'foo', resourceVersion: '1' } },
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'b', namespace: 'foo', resourceVersion: '2', annotations: { own: 'x' } },
        },
      ],
    });
  });
});
