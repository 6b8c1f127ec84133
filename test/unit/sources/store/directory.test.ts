import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { milliseconds } from '../../../../src/lib/duration.ts';
import { formatProblem, type Problem } from '../../../../src/lib/errors.ts';
import { namesFor } from '../../../../src/lib/names.ts';
import type { KubeObject } from '../../../../src/model/object.ts';
import { validateObject } from '../../../../src/model/parse/validate.ts';
import { allKinds } from '../../../../src/rules/config/kinds.ts';
import { DirectoryStore } from '../../../../src/sources/store/directory.ts';
import { codeOf, kinds, service, WatchRecorder } from '../../../contract/object-store.ts';

const yaml = (name: string, port = 80, namespace = 'foo'): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: {ports: [{port: ${port}}]}\n`;
const ref = (name: string, namespace = 'foo') => ({ kind: kinds.service, namespace, name });

describe('directory store', () => {
  let root: string;
  const opened: DirectoryStore[] = [];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'mesh-directory-'));
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
    await rm(root, { recursive: true, force: true });
  });

  function open(options: { resync?: number; onProblem?: (problems: readonly Problem[]) => void } = {}): DirectoryStore {
    const { resync, ...others } = options;
    const names = namesFor('mesh.io');
    const store = new DirectoryStore({
      root,
      kinds,
      now: () => new Date(),
      newUid: randomUUID,
      validate: (object) => validateObject(object, names),
      ...others,
      ...(resync === undefined ? {} : { resync: milliseconds(resync) }),
    });
    opened.push(store);
    return store;
  }

  async function file(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }

  const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');
  const namesOf = async (store: DirectoryStore): Promise<readonly string[]> =>
    (await store.list(kinds.service)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  const problemsOf = (store: DirectoryStore): readonly string[] =>
    store.problems().map((problem) => formatProblem(problem).replaceAll(`${root}/`, ''));

  describe('files', () => {
    it('finds objects in any layout: several documents, Lists, JSON, directories', async () => {
      await file('a.yaml', `${yaml('a')}---\n${yaml('b')}`);
      await file('deep/er/c.yml', yaml('c'));
      await file('d.json', JSON.stringify(service('d', 'foo')));
      await file('list.yaml', `apiVersion: v1\nkind: List\nitems:\n- ${yaml('e').trimEnd().replaceAll('\n', '\n  ')}\n`);
      await file('.hidden.yaml', yaml('hidden'));
      await file('notes.txt', yaml('text'));
      const store = open();
      expect(await namesOf(store)).to.deep.equal(['foo/a', 'foo/b', 'foo/c', 'foo/d', 'foo/e']);
      expect(store.problems()).to.deep.equal([]);
    });

    it('gives objects of people the same uid, time and version in every process', async () => {
      await file('a.yaml', yaml('a'));
      const [object, other] = [await open().get(ref('a')), await open().get(ref('a'))];
      expect(other).to.deep.equal(object);
      expect(object.metadata.uid).to.match(/^[0-9a-f-]{36}$/);
      const { birthtimeMs, mtimeMs } = await stat(join(root, 'a.yaml'));
      expect(Date.parse(object.metadata.creationTimestamp ?? '')).to.equal(
        Math.floor(Math.min(birthtimeMs, mtimeMs) / 1_000) * 1_000,
      );
    });

    it('writes its own to a predictable path, secrets for the owner alone', async () => {
      const store = open();
      await store.create(service('a', 'foo'));
      await store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'foo' } });
      await store.create({
        apiVersion: 'authentication.mesh.io/v1alpha1',
        kind: 'Policy',
        metadata: { name: 'p', namespace: 'foo' },
        spec: {},
      });
      await store.create({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 's', namespace: 'foo' },
        data: { key: 'c2VjcmV0' },
      });
      const mode = async (path: string): Promise<string> => ((await stat(join(root, path))).mode & 0o777).toString(8);
      expect(await read('foo/services/a.yaml')).to.include('name: a');
      expect(await read('_cluster/namespaces/foo.yaml')).to.include('name: foo');
      expect(await read('foo/policies.authentication.mesh.io/p.yaml')).to.include('name: p');
      expect([await mode('foo/secrets/s.yaml'), await mode('foo/secrets'), await mode('foo/services/a.yaml')]).to.deep.equal([
        '600',
        '700',
        '644',
      ]);
      await chmod(join(root, 'foo/secrets/s.yaml'), 0o644);
      await store.replace({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'foo' }, data: { key: 'bmV3' } });
      expect(await mode('foo/secrets/s.yaml')).to.equal('600');
    });

    it('does not take a file of somebody else', async () => {
      await file('foo/services/a.yaml', yaml('other'));
      await open().create(service('a', 'foo'));
      expect(await read('foo/services/a.yaml')).to.equal(yaml('other'));
      expect(await read('foo/services/a-2.yaml')).to.include('name: a');
    });

    it('stores names longer than a file name can be', async () => {
      const name = `${'a'.repeat(60)}.`.repeat(4).slice(0, 250).replace(/\.$/, 'a');
      const store = open();
      await store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'foo' }, data: {} });
      expect((await open().get({ kind: kinds.configMap, namespace: 'foo', name })).metadata.name).to.equal(name);
    });

    it('changes one document of a file and leaves the others to the letter', async () => {
      const [head, tail] = [`# mine\n${yaml('a')}---\n`, `---\n# last\n${yaml('c')}`];
      await file('all.yaml', `${head}# about b\n${yaml('b')}${tail}`);
      await utimes(join(root, 'all.yaml'), 1_700_000_000, 1_700_000_000);
      const store = open();
      const others = [await store.get(ref('a')), await store.get(ref('c'))];
      await store.replace(service('b', 'foo', 81));
      const text = await read('all.yaml');
      expect(text.startsWith(`${head}# about b\napiVersion: v1\n`)).to.equal(true);
      expect(text.endsWith(tail)).to.equal(true);
      expect([await store.get(ref('a')), await store.get(ref('c'))]).to.deep.equal(others);
      await store.delete(ref('b'));
      expect(await read('all.yaml')).to.equal(`${head.replace(/---\n$/, '')}${tail}`);
      await store.delete(ref('a'));
      await store.delete(ref('c'));
      expect(await readdir(root)).to.not.include('all.yaml');
    });

    it('changes one item of a List, in JSON too', async () => {
      await file(
        'list.json',
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [service('a', 'foo'), service('b', 'foo')] }),
      );
      const store = open();
      await store.replace(service('b', 'foo', 81));
      const { items } = JSON.parse(await read('list.json'));
      expect(items[0]).to.deep.equal(service('a', 'foo'));
      expect(items[1].spec.ports[0].port).to.equal(81);
      await store.delete(ref('a'));
      expect(await namesOf(store)).to.deep.equal(['foo/b']);
    });

    it('leaves no temporary files, not even those of a writer that died', async () => {
      await file('foo/services/.x.yaml.1.mesh-tmp', 'half');
      await open().create(service('a', 'foo'));
      expect((await readdir(join(root, 'foo/services'))).sort()).to.deep.equal(['a.yaml']);
      expect(await readdir(root)).to.deep.equal(['foo']);
    });
  });

  describe('problems', () => {
    it('names file, line and reason, and keeps to the good documents', async () => {
      await file('a.yaml', `${yaml('a')}---\nmetadata: [\n---\n${yaml('b').replace('name: b', 'name: B_')}`);
      await file('b.yaml', yaml('c'));
      const store = open();
      expect(await namesOf(store)).to.deep.equal(['foo/a', 'foo/c']);
      expect(problemsOf(store)).to.deep.equal([
        'a.yaml:6: not valid YAML: deficient indentation',
        'a.yaml:10: metadata.name: "B_" is not a DNS label (RFC 1123): at most 63 lower-case letters, digits and "-", the first and last no "-"',
      ]);
    });

    it('keeps the last good content of a broken file in force until it is repaired, and says so once', async () => {
      await file('a.yaml', `${yaml('a')}---\n${yaml('b')}`);
      await file('c.yaml', yaml('c'));
      const reported: (readonly Problem[])[] = [];
      const store = open({ onProblem: (problems) => reported.push(problems) });
      const before = await store.list(kinds.service);
      await file('a.yaml', `${yaml('a', 81)}---\nspec: {`);
      await file('c.yaml', yaml('c', 81));
      const during = await store.list(kinds.service);
      expect(during.slice(0, 2)).to.deep.equal(before.slice(0, 2));
      expect(during[2]?.spec).to.deep.equal({ ports: [{ port: 81 }] });
      expect(await codeOf(store.replace(service('a', 'foo', 82)))).to.equal('failed_precondition');
      await file('a.yaml', yaml('a', 83));
      expect(await namesOf(store)).to.deep.equal(['foo/a', 'foo/c']);
      expect(reported.map((problems) => problems.length)).to.deep.equal([1, 0]);
    });

    it('holds a policy that its parser refuses for broken', async () => {
      const policy = (peers: string): string =>
        `apiVersion: authentication.mesh.io/v1alpha1\nkind: Policy\nmetadata: {name: default, namespace: foo}\nspec:\n  ${peers}\n`;
      await file('p.yaml', policy('peers: [{mtls: {}}]'));
      const store = open();
      const good = await store.list(kinds.policy);
      await file('p.yaml', policy('peer: []'));
      expect(await store.list(kinds.policy)).to.deep.equal(good);
      expect(problemsOf(store)).to.deep.equal(['p.yaml:5: spec.peer: unknown field; did you mean "peers"?']);
    });

    it('does not take a file that was cut to nothing for "no objects"', async () => {
      await file('a.yaml', yaml('a'));
      const store = open();
      await store.list(kinds.service);
      await truncate(join(root, 'a.yaml'), 0);
      expect(await namesOf(store)).to.deep.equal(['foo/a']);
      expect(problemsOf(store)[0]).to.match(/^a\.yaml: empty/);
      await rm(join(root, 'a.yaml'));
      expect(await namesOf(store)).to.deep.equal([]);
      expect(store.problems()).to.deep.equal([]);
    });

    it('lets the first of two definitions be in force', async () => {
      await file('b.yaml', yaml('a', 2));
      await file('a.yaml', `---\n${yaml('a', 1)}`);
      const store = open();
      expect((await store.get(ref('a'))).spec).to.deep.equal({ ports: [{ port: 1 }] });
      expect(problemsOf(store)).to.deep.equal(['b.yaml:1: Service foo/a is already defined in a.yaml:2, which is in force']);
    });

    it('leaves the configuration of mixs to those who read it, and tells them what kinds there are', async () => {
      await file(
        'a.yaml',
        `${yaml('a')}---\napiVersion: config.mesh.io/v1alpha2\nkind: rul\nmetadata: {name: x, namespace: foo}\n---\napiVersion: rbac.mesh.io/v1alpha1\nkind: ServiceRol\nmetadata: {name: x, namespace: foo}\n`,
      );
      const store = open();
      expect(await namesOf(store)).to.deep.equal(['foo/a']);
      expect(problemsOf(store)).to.deep.equal([]);
      const reader = new DirectoryStore({ root, kinds: allKinds(namesFor('mesh.io')), now: () => new Date(), newUid: () => 'u' });
      expect(await namesOf(reader)).to.deep.equal(['foo/a']);
      expect(problemsOf(reader)).to.deep.equal([
        'a.yaml:7: kind: unknown kind "rul" of config.mesh.io/v1alpha2; did you mean "rule"?',
        'a.yaml:11: kind: unknown kind "ServiceRol" of rbac.mesh.io/v1alpha1; did you mean "ServiceRole"?',
      ]);
      await reader.close();
    });

    it('reports kinds it does not know without distrusting the file', async () => {
      await file(
        'a.yaml',
        `${yaml('a')}---\napiVersion: v1\nkind: Servce\nmetadata: {name: x}\n---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n`,
      );
      const store = open();
      expect(await namesOf(store)).to.deep.equal(['foo/a']);
      expect(problemsOf(store)).to.deep.equal([
        'a.yaml:7: kind: unknown kind "Servce" of v1; did you mean "Service"?',
        'a.yaml:11: kind: unknown kind "Thing" of example.com/v1',
      ]);
      await store.replace(service('a', 'foo', 81));
    });

    it('follows no link out of the tree, waits for no pipe, reads nothing huge', async () => {
      await file('good.yaml', yaml('good'));
      const outside = await mkdtemp(join(tmpdir(), 'mesh-outside-'));
      await writeFile(join(outside, 'x.yaml'), yaml('x'));
      await symlink(join(outside, 'x.yaml'), join(root, 'link.yaml'));
      await symlink(outside, join(root, 'linked'));
      execFileSync('mkfifo', [join(root, 'pipe.yaml')]);
      await file('huge.yaml', '');
      await truncate(join(root, 'huge.yaml'), 65 * 1024 * 1024);
      await writeFile(join(root, 'latin.yaml'), Buffer.from([0x61, 0x3a, 0x20, 0xe9, 0x0a]));
      const store = open();
      expect(await namesOf(store)).to.deep.equal(['foo/good']);
      expect(
        problemsOf(store)
          .map((problem) => problem.replace(/ \/.*,/, ' …,'))
          .sort(),
      ).to.deep.equal([
        'huge.yaml: larger than 64 MiB; it is not read',
        'latin.yaml: cannot be read: not UTF-8 text',
        'link.yaml: a link to …, outside the store; it is not followed',
        'linked: a link to a directory; it is not followed',
        'pipe.yaml: not a regular file; it is not read',
      ]);
      await rm(outside, { recursive: true });
    });

    it('reads a mounted ConfigMap, whose files are links inside the tree', async () => {
      await file('..2026/a.yaml', yaml('a'));
      await symlink('..2026', join(root, '..data'));
      await symlink('..data/a.yaml', join(root, 'a.yaml'));
      const store = open();
      expect(await namesOf(store)).to.deep.equal(['foo/a']);
      expect(store.problems()).to.deep.equal([]);
    });

    it('keeps everything in force when the directory goes away', async () => {
      await file('a.yaml', yaml('a'));
      const store = open();
      await store.list(kinds.service);
      await rename(root, `${root}-away`);
      expect(await namesOf(store)).to.deep.equal(['foo/a']);
      expect(store.problems()).to.have.length(1);
      expect(await codeOf(store.create(service('b', 'foo')))).to.equal('unavailable');
      await rename(`${root}-away`, root);
      expect(await namesOf(store)).to.deep.equal(['foo/a']);
      expect(store.problems()).to.deep.equal([]);
    });
  });

  describe('watching files', () => {
    it('hears of files that are made, changed and removed, in new directories too', async () => {
      const store = open();
      const watch = new WatchRecorder(store);
      await watch.until((events) => events.length === 1);
      await file('x/y/a.yaml', yaml('a'));
      await watch.until((events) => events.length === 2);
      await file('x/y/a.yaml', yaml('a', 81));
      await watch.until((events) => events.length === 3);
      await writeFile(join(root, 'next'), yaml('a', 82));
      await rename(join(root, 'next'), join(root, 'x/y/a.yaml'));
      await watch.until((events) => events.length === 4);
      await rm(join(root, 'x'), { recursive: true });
      await watch.until((events) => events.length === 5);
      await watch.stop();
      expect(watch.told()).to.deep.equal(['listed', 'added foo/a', 'modified foo/a', 'modified foo/a', 'deleted foo/a']);
    });

    it('tells only of the objects that changed in a file of many', async () => {
      const text = (port: number): string =>
        Array.from({ length: 50 }, (_, i) => yaml(`s${i}`, i === 7 ? port : 80)).join('---\n');
      await file('all.yaml', text(80));
      const watch = new WatchRecorder(open());
      await watch.until((events) => events.length === 1);
      await file('all.yaml', text(81));
      await watch.until((events) => events.length === 2);
      await file('end.yaml', yaml('z'));
      await watch.until((events) => events.length === 3);
      await watch.stop();
      expect(watch.told().slice(1)).to.deep.equal(['modified foo/s7', 'added foo/z']);
    });

    it('tells nothing of an object that moves to another file', async () => {
      await file('a.yaml', yaml('a'));
      await utimes(join(root, 'a.yaml'), 1_700_000_000, 1_700_000_000);
      const watch = new WatchRecorder(open());
      await watch.until((events) => events.length === 1);
      await rename(join(root, 'a.yaml'), join(root, 'b.yaml'));
      await file('z.yaml', yaml('z'));
      await watch.until((events) => events.length > 1);
      await watch.stop();
      expect(watch.told()).to.deep.equal(['listed foo/a', 'added foo/z']);
    });

    it('looks again by itself, whatever the system reports', async () => {
      await file('linked/x.yaml', yaml('a'));
      const store = open({ resync: 30 });
      const watch = new WatchRecorder(store);
      await watch.until((events) => events.length === 1);
      // A change seen through another name of the same file is no event in any watched directory.
      const other = await mkdtemp(join(tmpdir(), 'mesh-other-'));
      execFileSync('ln', [join(root, 'linked/x.yaml'), join(other, 'x.yaml')]);
      await writeFile(join(other, 'x.yaml'), yaml('a', 81));
      await watch.until((events) => events.length === 2);
      await watch.stop();
      await rm(other, { recursive: true });
      expect(watch.told()).to.deep.equal(['listed foo/a', 'modified foo/a']);
    });
  });

  describe('several processes', () => {
    const LOCK = '.mesh-store.lock';

    it('takes over the lock of a process that died', async () => {
      const { pid } = spawnSync('true');
      const [boot, pidNamespace] = [
        await readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
        execFileSync('readlink', ['/proc/self/ns/pid'], { encoding: 'utf8' }),
      ];
      await file(LOCK, JSON.stringify({ token: 't', pid, boot: boot.trim(), pidNamespace: pidNamespace.trim(), started: '1' }));
      await open().create(service('a', 'foo'));
      expect(await readdir(root)).to.deep.equal(['foo']);
    });

    it('takes over a lock that is far too old, whoever holds it', async () => {
      await file(LOCK, JSON.stringify({ token: 't', pid: process.pid, boot: 'elsewhere', pidNamespace: '', started: '' }));
      await utimes(join(root, LOCK), new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
      await open().create(service('a', 'foo'));
      expect(await readdir(root)).to.deep.equal(['foo']);
    });

    it('waits for a process that lives', async () => {
      const held = JSON.stringify({ token: 't', pid: process.pid, boot: 'elsewhere', pidNamespace: '', started: '' });
      await file(LOCK, held);
      const created = open().create(service('a', 'foo'));
      expect(
        await Promise.race([created.then(() => 'created'), new Promise((resolve) => setTimeout(resolve, 60, 'waiting'))]),
      ).to.equal('waiting');
      await rm(join(root, LOCK));
      expect((await created).metadata.name).to.equal('a');
    });

    it('loses nothing of processes that write at the same time', async () => {
      const script = `
        const { DirectoryStore } = await import(${JSON.stringify(new URL('../../../../src/sources/store/directory.ts', import.meta.url).href)});
        const { kindsFor } = await import(${JSON.stringify(new URL('../../../../src/model/kinds.ts', import.meta.url).href)});
        const { namesFor } = await import(${JSON.stringify(new URL('../../../../src/lib/names.ts', import.meta.url).href)});
        const kinds = kindsFor(namesFor('mesh.io'));
        const store = new DirectoryStore({ root: ${JSON.stringify(root)}, kinds, now: () => new Date(), newUid: () => crypto.randomUUID() });
        for (let i = 0; i < 10; ) {
          const object = await store.get({ kind: kinds.service, namespace: 'foo', name: 'counter' });
          try { await store.replace({ ...object, spec: { count: object.spec.count + 1 } }); i++; } catch (error) { if (error.code !== 'conflict') throw error; }
        }`;
      const store = open();
      await store.create({ ...service('counter', 'foo'), spec: { count: 0 } });
      const { spawn } = await import('node:child_process');
      const exits = await Promise.all(
        [1, 2, 3].map(() => {
          const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
            stdio: ['ignore', 'ignore', 'inherit'],
          });
          return new Promise((resolve) => child.on('exit', resolve));
        }),
      );
      expect(exits).to.deep.equal([0, 0, 0]);
      expect((await store.get(ref('counter'))).spec).to.deep.equal({ count: 30 });
    }).timeout(120_000);
  });

  describe('failures of the file system', () => {
    it('say what is wrong and change nothing', async () => {
      const store = open();
      await store.create(service('a', 'foo'));
      await file('foo/pods', 'a file where the directory should be');
      const failing = store.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'foo' } } as KubeObject);
      expect(await codeOf(failing)).to.equal('unavailable');
      await failing.catch(({ message }) => expect(message).to.match(/^cannot write .*foo\/pods\/p\.yaml: /));
      expect(await store.list(kinds.pod)).to.deep.equal([]);
      expect((await readdir(root)).filter((name) => name !== 'foo')).to.deep.equal([]);
      await store.create(service('b', 'foo'));
    });
  });
});
