import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openInCluster } from '../../src/io/kubernetes/open-client.ts';
import { MeshError, type Problem } from '../../src/lib/errors.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { KubernetesStore } from '../../src/sources/store/kubernetes/kubernetes-store.ts';
import { type OpenedStore, openStore } from '../../src/sources/store/open.ts';
import { kinds, namesAfter, policy, service, WatchRecorder } from '../contract/object-store.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { installOpenKinds } from '../harness/cluster-kinds.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

describe('objects on a real API server', () => {
  let cluster: TestCluster;
  let root: string;
  let opened: OpenedStore[];
  let reported: (readonly Problem[])[];
  before(async function () {
    cluster = await requireCluster(this);
    await installOpenKinds(cluster, kinds);
    for (const name of ['store', 'elsewhere']) cluster.kubectl(['create', 'namespace', name]);
    for (const name of ['reader', 'nobody']) cluster.kubectl(['create', 'serviceaccount', name, '-n', 'store']);
    cluster.kubectl(['create', 'role', 'reader', '-n', 'store', '--verb=get,list,watch', '--resource=services']);
    cluster.kubectl(['create', 'rolebinding', 'reader', '-n', 'store', '--role=reader', '--serviceaccount=store:reader']);
  });
  after(() => {
    cluster?.kubectl(['delete', 'namespace', 'store', 'elsewhere', '--wait=false']);
  });
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'mesh-kube-'));
    opened = [];
    reported = [];
  });
  afterEach(async () => {
    for (const store of opened) await store.close();
    for (const plural of ['services', 'configmaps']) {
      await cluster.client.request({ method: 'DELETE', path: `/api/v1/namespaces/store/${plural}`, what: `delete ${plural}` });
    }
    await rm(root, { recursive: true });
  });

  function open(path = cluster.kubeconfig): OpenedStore {
    const onProblem = (problems: readonly Problem[]): void => void reported.push(problems);
    const env = { PATH: process.env['PATH'] };
    const store = openStore(path, {
      flag: '--orchconfig',
      kinds,
      env,
      cwd: root,
      now: () => new Date(),
      newUid: () => '',
      onProblem,
    });
    opened.push(store);
    return store;
  }

  /** A kubeconfig of another user. */
  async function configFor(user: object, server: object = {}): Promise<string> {
    const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
    config.users[0].user = user;
    Object.assign(config.clusters[0].cluster, server);
    const path = join(root, 'kubeconfig');
    await writeFile(path, JSON.stringify(config));
    return path;
  }

  const tokenOf = (account: string): string => cluster.kubectl(['create', 'token', account, '-n', 'store']).trim();

  async function failure(promise: Promise<unknown>): Promise<string> {
    try {
      return `resolved: ${JSON.stringify(await promise)}`;
    } catch (error) {
      return error instanceof MeshError ? `${error.code}: ${error.message.replaceAll(cluster.server, 'SERVER')}` : String(error);
    }
  }

  const names = (objects: readonly KubeObject[]): readonly string[] => objects.map(({ metadata }) => metadata.name);

  describe('as a user', () => {
    it('with a token may do what RBAC says, and is told what it does not', async () => {
      const store = open(await configFor({ token: tokenOf('reader') }));
      expect(await store.list(kinds.service, 'store')).to.deep.equal([]);
      expect(await failure(store.list(kinds.service))).to.equal(
        'permission_denied: cannot list services: the API server at SERVER refuses it to user "admin": services is forbidden: ' +
          'User "system:serviceaccount:store:reader" cannot list resource "services" in API group "" at the cluster scope',
      );
      expect(await failure(store.create({ ...policy('a', 'store'), spec: {} }))).to.equal(
        'permission_denied: cannot create Policy store/a: the API server at SERVER refuses it to user "admin": ' +
          'policies.authentication.mesh.io is forbidden: User "system:serviceaccount:store:reader" cannot create resource "policies" ' +
          'in API group "authentication.mesh.io" in the namespace "store"',
      );
    });

    it('with a plugin is whom the plugin says', async () => {
      const status = { token: tokenOf('reader') };
      const apiVersion = 'client.authentication.k8s.io/v1';
      await writeFile(join(root, 'out'), JSON.stringify({ apiVersion, kind: 'ExecCredential', status }));
      const store = open(
        await configFor({ exec: { apiVersion, command: 'cat', args: [join(root, 'out')], interactiveMode: 'Never' } }),
      );
      expect(await store.list(kinds.service, 'store')).to.deep.equal([]);
    });

    it('acts for another', async () => {
      const { users } = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
      const store = open(await configFor({ ...users[0].user, as: 'jane', 'as-groups': ['devs'] }));
      expect(await failure(store.list(kinds.pod))).to.include('User "jane" cannot list resource "pods"');
    });

    it('with a wrong token is not known', async () => {
      const store = open(await configFor({ token: 'wrong' }));
      expect(await failure(store.list(kinds.pod))).to.equal(
        'unauthenticated: cannot list pods: the API server at SERVER does not accept the credentials of user "admin" (Unauthorized)',
      );
    });

    it('in a pod reads its token anew when it is renewed', async () => {
      const { hostname, port } = new URL(cluster.server);
      const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
      const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
      await writeFile(join(root, 'ca.crt'), Buffer.from(config.clusters[0].cluster['certificate-authority-data'], 'base64'));
      await writeFile(join(root, 'token'), 'expired');
      const client = openInCluster({ flag: '--orchconfig', env, now: () => new Date() }, root);
      const store = new KubernetesStore({ client, kinds, sleep: async () => {}, elapsed: () => 0, random: () => 0 });
      expect(await failure(store.list(kinds.service, 'store'))).to.include('user "service account of the pod" (Unauthorized)');
      await writeFile(join(root, 'token'), tokenOf('reader'));
      expect(await store.list(kinds.service, 'store')).to.deep.equal([]);
      await store.close();
    });
  });

  describe('of a server', () => {
    it('that is not there are reported with flag and address', async () => {
      const store = open(await configFor({}, { server: 'https://127.0.0.1:1' }));
      expect(await failure(store.list(kinds.pod))).to.equal(
        'unavailable: cannot list pods: the API server at https://127.0.0.1:1, given by --orchconfig, cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
      );
    });

    it('that is not the one of the authority are not asked', async () => {
      const other = await readFile(join(cluster.directory, 'pki/apiserver.crt'));
      const store = open(await configFor({}, { 'certificate-authority-data': other.toString('base64') }));
      expect(await failure(store.list(kinds.pod))).to.match(
        /^unavailable: cannot list pods: the API server at SERVER, given by --orchconfig, is not trusted: .*; its certificate authority belongs into the configuration$/,
      );
      const name = open(await configFor({}, { 'tls-server-name': 'other' }));
      expect(await failure(name.list(kinds.pod))).to.include('is not trusted: Hostname/IP does not match');
    });

    it('that nobody vouches for are had where the configuration says so', async () => {
      const { users } = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
      const config = { 'insecure-skip-tls-verify': true, 'certificate-authority-data': '' };
      expect(names(await open(await configFor(users[0].user, config)).list(kinds.namespace))).to.include('store');
    });
  });

  it('are had through a proxy, which sees nothing of them', async () => {
    const asked: string[] = [];
    const proxy = createServer().on('connect', (request: IncomingMessage, socket: Socket) => {
      asked.push(String(request.url));
      const { hostname, port } = new URL(cluster.server);
      const upstream = connect(Number(port), hostname, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      for (const end of [socket, upstream]) end.on('error', () => upstream.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const { users } = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
    const config = { 'proxy-url': `http://127.0.0.1:${port}`, server: 'https://kubernetes:6443' };
    const store = open(await configFor(users[0].user, config));
    try {
      expect(names(await store.list(kinds.namespace))).to.include('store');
      expect(asked).to.deep.equal(['kubernetes:6443']);
    } finally {
      await store.close();
      proxy.close();
    }
  });

  describe('beside kubectl', () => {
    const manifest = (data: Readonly<Record<string, string>>): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'store' }, data });
    const ref = { kind: kinds.configMap, namespace: 'store', name: 'settings' };

    it('come without what kubectl keeps there, and go without losing it', async () => {
      const store = open();
      cluster.kubectl(['apply', '-f', '-'], manifest({ a: '1', b: '2' }));
      const found = await store.get(ref);
      expect(found.metadata).to.not.have.any.keys('managedFields', 'annotations');
      await store.replace({ ...found, data: { a: '1', b: '2', ours: '3' } });
      const raw = JSON.parse(
        cluster.kubectl(['get', 'configmap', 'settings', '-n', 'store', '-o', 'json', '--show-managed-fields']),
      );
      expect(raw.metadata.annotations[LAST_APPLIED]).to.include('"b":"2"');
      expect(raw.metadata.managedFields.map((entry: { readonly manager: string }) => entry.manager)).to.deep.equal([
        'kubectl-client-side-apply',
        'mesh',
      ]);
      cluster.kubectl(['apply', '-f', '-'], manifest({ a: '1' }));
      expect((await store.get(ref)).data).to.deep.equal({ a: '1', ours: '3' });
    });

    it('are changed by both without a lost change', async () => {
      const store = open();
      cluster.kubectl(['apply', '-f', '-'], manifest({ a: '1' }));
      const read = await store.get(ref);
      cluster.kubectl(['apply', '-f', '-'], manifest({ a: '2' }));
      expect(await failure(store.replace({ ...read, data: { a: '3' } }))).to.equal(
        'conflict: ConfigMap store/settings was changed by somebody else; read it again and repeat the change on that',
      );
    });
  });

  describe('with a status of its own', () => {
    const ref = { kind: kinds.service, namespace: 'store', name: 'a' };
    const condition = { type: 'Ready', status: 'True', reason: 'Seen', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' };
    const status = { loadBalancer: {}, conditions: [condition] };

    it('are replaced in both parts', async () => {
      const store = open();
      const created = await store.create({
        ...service('a', 'store'),
        metadata: { name: 'a', namespace: 'store', labels: { v: '1' } },
      });
      const metadata = { ...created.metadata, labels: { v: '2' } };
      const replaced = await store.replace({ ...created, metadata, status });
      expect(replaced.metadata.labels).to.deep.equal({ v: '2' });
      expect(replaced.status).to.deep.equal(status);
      expect(await store.get(ref)).to.deep.equal(replaced);
    });

    it('keep it when a manifest with an old one is applied', async () => {
      const store = open();
      const created = await store.create(service('a', 'store'));
      await store.replace({ ...created, status });
      const { resourceVersion: _, ...metadata } = created.metadata;
      const replaced = await store.replace({ ...created, metadata });
      expect(replaced.status).to.deep.equal(status);
    });
  });

  it('are refused where the API server knows better', async () => {
    const store = open();
    const wrong = { ...service('a', 'store'), spec: { ports: [{ port: 99_999 }] } };
    expect(await failure(store.create(wrong))).to.match(/^invalid: .*port/);
    expect(await failure(store.create(service('a', 'nowhere')))).to.equal(
      'not_found: cannot create Service nowhere/a: namespaces "nowhere" not found',
    );
  });

  it('are listed all, however many pages they are', async function () {
    this.timeout(120_000);
    const store = open();
    const all = Array.from({ length: 1_203 }, (_, index) => `c${String(index).padStart(4, '0')}`);
    const item = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'store' } });
    // Not all at once: a server that is busy turns requests away.
    for (let at = 0; at < all.length; at += 100)
      await Promise.all(all.slice(at, at + 100).map((name) => store.create(item(name) as KubeObject)));
    const found = names(await store.list(kinds.configMap, 'store')).filter((name) => name.startsWith('c'));
    expect(found).to.deep.equal(all);
    const watch = new WatchRecorder(store, kinds.configMap, 'store');
    await watch.until((events) => events.length > 0);
    await watch.stop();
    expect(watch.told()[0]?.split(' ')).to.include.members(all.map((name) => `store/${name}`));
  });

  it('are followed through a restart of the API server, with nothing lost', async function () {
    this.timeout(120_000);
    const store = open();
    const watch = new WatchRecorder(store, kinds.service, 'store');
    // A server that has just started may have everything listed twice.
    const knows = (...known: readonly string[]) => watch.until((events) => namesAfter(events).join() === known.join());
    await watch.until((events) => events.length > 0);
    await store.create(service('before', 'store'));
    await knows('before');
    cluster.killApiServer();
    while (!reported.some((problems) => problems.length > 0)) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(reported[0]?.[0]?.message).to.match(/^cannot (list|watch) services in namespace store: the API server at/);
    await cluster.startApiServer();
    cluster.kubectl(['create', 'service', 'clusterip', 'meanwhile', '--tcp=80:80', '-n', 'store']);
    await knows('before', 'meanwhile');
    while (store.problems().length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await watch.stop();
    expect(watch.told().join()).to.not.include('deleted');
  });

  it('of a namespace are followed with rights in that namespace alone', async () => {
    const reader = open(await configFor({ token: tokenOf('reader') }));
    const watch = new WatchRecorder(reader, kinds.service, 'store');
    await watch.until((events) => events.length > 0);
    const admin = open();
    await admin.create(service('a', 'elsewhere'));
    await admin.create(service('b', 'store'));
    await watch.until((events) => namesAfter(events).join() === 'b');
    await watch.stop();
    expect(watch.told().join()).to.not.include('elsewhere');
  });

  it('that may not be followed are reported, until they may', async function () {
    this.timeout(120_000);
    const store = open(await configFor({ token: tokenOf('nobody') }));
    const watch = new WatchRecorder(store, kinds.service, 'store');
    while (reported.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(reported[0]?.[0]).to.have.property('path', 'services');
    expect(reported[0]?.[0]?.message).to.include('User "system:serviceaccount:store:nobody" cannot list resource "services"');
    cluster.kubectl(['create', 'rolebinding', 'nobody', '-n', 'store', '--role=reader', '--serviceaccount=store:nobody']);
    await watch.until((events) => events.length > 0);
    while (reported.at(-1)?.length !== 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await watch.stop();
    expect(new Set(watch.told())).to.deep.equal(new Set(['listed']));
  });
});
