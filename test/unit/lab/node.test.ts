import { expect } from 'chai';
import type { Access } from '../../../src/io/kubernetes/access.ts';
import { addressOf, reachedAt } from '../../../src/lab/node/access.ts';
import { apiServerEnvironment, missingEndpoints, throughRelay } from '../../../src/lab/node/api-service.ts';
import { isToBind } from '../../../src/lab/node/binder.ts';
import { type HeartbeatOptions, keepAlive, register } from '../../../src/lab/node/heartbeat.ts';
import { nodeObject, nodeStatus } from '../../../src/lab/node/node-object.ts';
import { nodePods } from '../../../src/lab/node/node-pods.ts';
import { nodeArguments, nodeSettings } from '../../../src/lab/node/settings.ts';
import { requestedTokens } from '../../../src/lab/node/tokens.ts';
import { milliseconds, seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

const FLAGS = { orchconfig: 'k', 'node-name': 'lab', 'node-label': [], 'egress-socket': '', image: [] };
const absolute = (path: string): string => `/home/${path}`;

const pod = (spec: Readonly<Record<string, unknown>>, metadata: Readonly<Record<string, unknown>> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'foo', uid: 'u1', ...metadata },
  spec,
});

describe('what makes a lab a node', () => {
  it('is nothing without a cluster, and then other flags of a node make no sense', () => {
    expect(nodeSettings({ ...FLAGS, orchconfig: '' }, absolute)).to.equal(undefined);
    expect(() => nodeSettings({ ...FLAGS, orchconfig: '', 'egress-socket': 's' }, absolute)).to.throw(
      MeshError,
      '--egress-socket is of a node of a cluster: name the cluster by --orchconfig',
    );
  });

  it('comes back whole from the command line of the daemon', () => {
    const settings = nodeSettings(
      {
        ...FLAGS,
        'node-label': ['topology.kubernetes.io/zone=a', 'plain='],
        'egress-socket': 's',
        image: ['web=python3 -m http.server --bind=::'],
      },
      absolute,
    );
    const words = [...(settings === undefined ? [] : nodeArguments(settings))];
    const values = (flag: string): string[] => words.filter((_, index) => words[index - 1] === `--${flag}`);
    const again = {
      orchconfig: values('orchconfig')[0] ?? '',
      'node-name': values('node-name')[0] ?? '',
      'node-label': values('node-label'),
      'egress-socket': values('egress-socket')[0] ?? '',
      image: values('image'),
    };
    expect(settings?.kubeconfig).to.equal('/home/k');
    expect(nodeSettings(again, (path) => path)).to.deep.equal(settings);
  });

  for (const [flags, message] of [
    [{ 'node-name': 'Lab 1' }, '--node-name: "Lab 1" is not the name of a node, such as lab'],
    [{ 'node-label': ['zone'] }, '--node-label "zone" is not KEY=VALUE, such as topology.kubernetes.io/zone=a'],
    [{ 'egress-socket': 'x'.repeat(110) }, "is longer than the 107 bytes that a socket's path may have"],
    [{ image: ['web'] }, '--image "web" is not NAME=CMD'],
  ] as const) {
    it(`is refused: ${message}`, () => {
      expect(() => nodeSettings({ ...FLAGS, ...flags }, absolute)).to.throw(MeshError, message);
    });
  }
});

describe('the API server as a node reaches it', () => {
  const access = (url: string): Access => ({ server: { url, insecure: false }, user: { name: 'admin', impersonate: {} } });
  const relay = { host: '10.244.0.1', port: 6443 };

  it('is called at the relay, and must still show a certificate of its own name', () => {
    const { server } = reachedAt(access('https://api.example.com'), relay);
    expect(server).to.deep.include({ url: 'https://10.244.0.1:6443', serverName: 'api.example.com' });
    expect(addressOf(access('https://api.example.com'))).to.deep.equal({ host: 'api.example.com', port: 443 });
  });

  it('has the name that pods know it by where the kubeconfig gives an address', () => {
    expect(reachedAt(access('https://127.0.0.1:1234'), relay).server.serverName).to.equal('kubernetes.default.svc');
    expect(reachedAt(access('https://[::1]:1234/base'), relay).server.url).to.equal('https://10.244.0.1:6443/base');
    expect(addressOf(access('https://[::1]:1234'))).to.deep.equal({ host: '::1', port: 1234 });
  });
});

describe('the service of the API server', () => {
  const service: KubeObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kubernetes', namespace: 'default' },
    spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, targetPort: 6443, protocol: 'TCP' }] },
  };
  const objects = (slices: readonly KubeObject[], found: KubeObject | undefined = service) => ({
    list: () => slices,
    find: () => found,
  });

  it('is in the environment of every container', () => {
    expect(apiServerEnvironment(objects([]))).to.deep.equal({
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      KUBERNETES_SERVICE_PORT_HTTPS: '443',
    });
  });

  it('leads to the relay, whatever its endpoints say', () => {
    const elsewhere = {
      clusterIp: '10.96.0.1',
      ports: [{ port: 443, protocol: 'TCP' as const, endpoints: [{ address: '192.0.2.1', port: 1 }] }],
    };
    const other = { clusterIp: '10.96.0.2', ports: [] };
    expect(throughRelay([elsewhere, other], objects([]))).to.deep.equal([
      other,
      { clusterIp: '10.96.0.1', ports: [{ port: 443, protocol: 'TCP', endpoints: [{ address: '10.244.0.1', port: 6443 }] }] },
    ]);
  });

  it('gets endpoints where nobody publishes any', () => {
    const made = missingEndpoints(objects([]));
    expect(made?.['endpoints']).to.deep.equal([{ addresses: ['10.244.0.1'], conditions: { ready: true } }]);
    expect(missingEndpoints(objects(made === undefined ? [] : [made]))).to.equal(undefined);
  });
});

describe('pods that the node takes', () => {
  const labels = { 'kubernetes.io/os': 'linux' };

  it('are those that wait for a node and select none, or one like this', () => {
    expect(isToBind(pod({}), labels)).to.equal(true);
    expect(isToBind(pod({ nodeSelector: labels }), labels)).to.equal(true);
  });

  for (const [title, spec, metadata] of [
    ['are bound', { nodeName: 'other' }, {}],
    ['are being deleted', {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }],
    ['want another scheduler', { schedulerName: 'mine' }, {}],
    ['are gated', { schedulingGates: [{ name: 'g' }] }, {}],
    ['select other nodes', { nodeSelector: { disk: 'ssd' } }, {}],
  ] as const) {
    it(`are not those that ${title}`, () => expect(isToBind(pod(spec, metadata), labels)).to.equal(false));
  }

  it('keep the conditions that others have written', async () => {
    const reported: unknown[] = [];
    const others = { type: 'example.com/gate', status: 'True' };
    const object = { ...pod({ nodeName: 'lab' }), status: { conditions: [{ type: 'Ready', status: 'False' }, others] } };
    const source = nodePods(
      { list: () => [object, pod({ nodeName: 'other' })] },
      { reportPod: async (_, status) => void reported.push(status), removePod: async () => {} },
      'lab',
    );
    expect(source.list()).to.deep.equal([object]);
    await source.report(object, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
    expect(reported).to.deep.equal([{ phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }, others] }]);
  });
});

describe('tokens from the API server', () => {
  const subject = { namespace: 'foo', pod: { name: 'web', uid: 'u1' } };

  it('are asked for once for as long as four fifths of what was granted', async () => {
    let now = 0;
    let asked = 0;
    const api = {
      requestToken: async () => ({ token: `t${++asked}`, expires: new Date(now + 1_000_000) }),
    };
    const tokens = requestedTokens(api, () => new Date(now));
    const next = (): Promise<string> => tokens(subject, 'default', 'mesh-ca', seconds(3_600));
    expect([await next(), await next()]).to.deep.equal(['t1', 't1']);
    now = 799_000;
    expect(await next()).to.equal('t1');
    now = 801_000;
    expect(await next()).to.equal('t2');
  });

  it('differ by audience and by pod', async () => {
    const api = {
      requestToken: async (who: typeof subject, _: string, audience: string) => ({
        token: `${who.pod.uid} ${audience}`,
        expires: new Date(3_600_000),
      }),
    };
    const tokens = requestedTokens(api, () => new Date(0));
    expect(await tokens(subject, 'default', 'a', seconds(600))).to.equal('u1 a');
    expect(await tokens(subject, 'default', 'b', seconds(600))).to.equal('u1 b');
    expect(await tokens({ ...subject, pod: { name: 'web', uid: 'u2' } }, 'default', 'a', seconds(600))).to.equal('u2 a');
  });
});

describe('the heartbeat of a node', () => {
  /** A cluster with room for one node. */
  class FakeCluster {
    node: KubeObject | undefined;
    isAway = false;
    readonly calls: string[] = [];

    readonly api: HeartbeatOptions['api'] = {
      node: async () => {
        if (this.isAway) throw new MeshError('unavailable', 'the API server is away');
        return this.node;
      },
      createNode: async (node) => {
        this.calls.push('create');
        this.node = node;
        return node;
      },
      patchNode: async () => void this.calls.push('label'),
      reportNode: async (name) => {
        this.calls.push('report');
        this.node = { ...nodeObject(name, {}), status: nodeStatus(name, new Date(0)) };
      },
      renewLease: async () => void this.calls.push('lease'),
    };
  }

  /** Beats once after each change. */
  async function beats(cluster: FakeCluster, ...changes: readonly (() => void)[]): Promise<readonly number[]> {
    const end = new AbortController();
    const waits: number[] = [];
    const left = [...changes];
    await keepAlive({
      api: cluster.api,
      name: 'lab',
      labels: {},
      now: () => new Date(0),
      sleep: async (time) => {
        waits.push(time);
        const change = left.shift();
        if (change === undefined) end.abort();
        else change();
      },
      logger: new MemoryLogger(),
      signal: end.signal,
    });
    return waits;
  }

  async function registered(cluster: FakeCluster): Promise<void> {
    const signal = new AbortController().signal;
    await register({
      api: cluster.api,
      name: 'lab',
      labels: {},
      now: () => new Date(0),
      sleep: async () => {},
      logger: new MemoryLogger(),
      signal,
    });
  }

  it('makes the node known as ready, anew or again', async () => {
    const cluster = new FakeCluster();
    await registered(cluster);
    expect(cluster.calls).to.deep.equal(['create', 'lease', 'report']);
    await registered(cluster);
    expect(cluster.calls.slice(3)).to.deep.equal(['label', 'lease', 'report']);
  });

  it('renews the lease alone while all is well, every ten seconds', async () => {
    const cluster = new FakeCluster();
    await registered(cluster);
    expect(
      await beats(
        cluster,
        () => {},
        () => {},
      ),
    ).to.deep.equal([10_000, 10_000, 10_000]);
    expect(cluster.calls.slice(3)).to.deep.equal(['lease', 'lease']);
  });

  it('contradicts a cluster that says the node is not ready, and registers a node that was removed', async () => {
    const cluster = new FakeCluster();
    await registered(cluster);
    await beats(
      cluster,
      () => {
        cluster.node = { ...nodeObject('lab', {}), status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } };
      },
      () => {
        cluster.node = undefined;
      },
    );
    expect(cluster.calls.slice(3)).to.deep.equal(['lease', 'report', 'create', 'lease', 'report']);
  });

  it('tries again soon when the API server is away', async () => {
    const cluster = new FakeCluster();
    await registered(cluster);
    const waits = await beats(
      cluster,
      () => {
        cluster.isAway = true;
      },
      () => {
        cluster.isAway = false;
      },
    );
    expect(waits).to.deep.equal([10_000, milliseconds(1_000), 10_000]);
  });
});
