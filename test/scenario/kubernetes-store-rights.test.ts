import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MeshError } from '../../src/lib/errors.ts';
import { namesFor } from '../../src/lib/names.ts';
import { customResourceDefinitions } from '../../src/meshctl/install/crds.ts';
import { discoveryObjects } from '../../src/meshctl/install/discovery.ts';
import type { KubeObject } from '../../src/model/object.ts';
import { withReport } from '../../src/pilot-discovery/policy-status.ts';
import { type OpenedStore, openStore } from '../../src/sources/store/open.ts';
import { kinds } from '../contract/object-store.ts';
import { ownCluster, type TestCluster } from '../harness/cluster.ts';

const names = namesFor('mesh.io');
const NAMESPACE = 'mesh-system';
const ACCOUNT = 'mesh-pilot-service-account';
const RIGHTS: readonly string[] = ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'];

/** With the definitions and the rights that the installation gives. */
describe('policies on a real API server', () => {
  let cluster: TestCluster;
  let root: string;
  let admin: OpenedStore;
  let pilot: OpenedStore;

  before(async function () {
    cluster = await ownCluster(this);
    root = await mkdtemp(join(tmpdir(), 'mesh-rights-'));
    for (const name of [NAMESPACE, 'foo']) cluster.kubectl(['create', 'namespace', name]);
    const definitions = customResourceDefinitions(names);
    const rights = discoveryObjects({ names, namespace: NAMESPACE, image: 'mesh', replicas: 1 });
    apply([...definitions, ...rights.filter(({ kind }) => RIGHTS.includes(kind))]);
    const crds = definitions.map(({ metadata }) => `crd/${metadata.name}`);
    cluster.kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...crds]);
    admin = open(cluster.kubeconfig);
    pilot = open(await configOf(ACCOUNT));
  });
  after(async () => {
    await admin?.close();
    await pilot?.close();
    cluster?.stop();
    if (root !== undefined) await rm(root, { recursive: true, force: true });
  });
  afterEach(() => {
    cluster.kubectl(['delete', 'policies', '--all', '-n', 'foo']);
  });

  function apply(objects: readonly KubeObject[]): void {
    cluster.kubectl(['apply', '-f', '-'], objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  }

  async function configOf(account: string): Promise<string> {
    const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8'));
    config.users[0].user = { token: cluster.kubectl(['create', 'token', account, '-n', NAMESPACE]).trim() };
    const path = join(root, account);
    await writeFile(path, JSON.stringify(config));
    return path;
  }

  function open(path: string): OpenedStore {
    return openStore(path, { flag: '--orchconfig', kinds, env: {}, cwd: root, now: () => new Date(), newUid: () => '' });
  }

  const policy = (spec: object = { peers: [{ mtls: {} }] }): KubeObject => ({
    apiVersion: kinds.policy.apiVersion,
    kind: 'Policy',
    metadata: { name: 'web', namespace: 'foo' },
    spec,
  });

  async function failure(promise: Promise<unknown>): Promise<string> {
    try {
      return `resolved: ${JSON.stringify(await promise)}`;
    } catch (error) {
      return error instanceof MeshError ? `${error.code}: ${error.message}` : String(error);
    }
  }

  it('get their status from pilot-discovery, which may write nothing else', async () => {
    const reporter = { id: 'pilot-1', now: new Date('2030-01-01T00:00:00Z') };
    await admin.create(policy());
    const ref = { kind: kinds.policy, namespace: 'foo', name: 'web' };
    const faults = { rejected: 'no such cipher', conflict: undefined };
    const faulty = withReport(await pilot.get(ref), faults, reporter);
    if (faulty === undefined) throw new Error('nothing to report');
    expect((await pilot.replace(faulty)).status).to.deep.equal(faulty.status);
    expect(await failure(pilot.replace({ ...(await pilot.get(ref)), spec: {} }))).to.match(
      /^permission_denied: cannot replace Policy/,
    );
    const mended = withReport(await pilot.get(ref), undefined, reporter);
    expect(mended?.status, 'the reporter knows its own report again').to.have.nested.property('conditions[0].status', 'True');
  });

  it('with a field that there is not are refused with its name', async () => {
    const store = openStore(cluster.kubeconfig, {
      flag: '--orchconfig',
      kinds,
      env: {},
      cwd: root,
      now: () => new Date(),
      newUid: () => '',
      validate: () => [],
    });
    try {
      const message = /^invalid: cannot create Policy foo\/web: .*unknown field "spec.peeers"/;
      expect(await failure(store.create(policy({ peeers: [] })))).to.match(message);
      const created = await store.create(policy());
      const changed = { ...created, spec: { peers: [{ mtls: {}, odd: 1 }] } };
      expect(await failure(store.replace(changed))).to.match(/^invalid: cannot replace .*unknown field "spec.peers\[0\].odd"/);
    } finally {
      await store.close();
    }
  });

  it('that do not change are not written', async () => {
    const created = await admin.create(policy());
    expect(await pilot.replace(created)).to.deep.equal(created);
  });
});
