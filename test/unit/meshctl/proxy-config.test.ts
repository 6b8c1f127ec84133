import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import create from '../../../src/commands/meshctl/create.ts';
import proxyConfig from '../../../src/commands/meshctl/proxy-config.ts';
import { type CommandRunner, commandRunner } from '../../harness/command-runner.ts';

const NODE = 'sidecar~10.1.0.5~web-6d9f5bcb4d-x2vnk.foo~foo.svc.cluster.local';
const address = (host: string, port: number): object => ({ socketAddress: { address: host, portValue: port } });

/** As `/debug/config_dump` writes it. */
const DUMP = {
  proxy: NODE,
  cluster: {
    version: 'v1',
    resources: [
      {
        name: 'outbound|80||api',
        type: 'EDS',
        loadAssignment: { clusterName: 'x' },
        metadata: { filterMetadata: { 'io.mesh': {} } },
      },
      { name: 'secret', transportSocket: { typedConfig: { privateKey: { inlineString: 'hush' } } } },
    ],
  },
  endpoint: {
    resources: [
      {
        clusterName: 'outbound|80||api',
        endpoints: [
          {
            lbEndpoints: [
              { endpoint: { address: address('10.1.0.9', 8080) } },
              { endpoint: { address: address('10.1.0.8', 8080) }, healthStatus: 'DRAINING' },
            ],
          },
        ],
      },
    ],
  },
  listener: { resources: [{ name: 'inbound', address: address('0.0.0.0', 15006), filterChains: [{}, {}] }] },
  route: {
    resources: [{ name: '80', virtualHosts: [{ name: 'api:80', domains: ['api', 'api.foo', 'api.foo.svc'], routes: [{}] }] }],
  },
};

const POD = `apiVersion: v1
kind: Pod
metadata: {name: web-6d9f5bcb4d-x2vnk, namespace: foo, annotations: {sidecar.mesh.io/status: '{}'}}
spec: {containers: [{name: web}]}
---
apiVersion: v1
kind: Pod
metadata: {name: bare, namespace: foo}
spec: {containers: [{name: web}]}
`;

describe('meshctl proxy-config', () => {
  let root: string;
  let server: Server;
  let at: string;
  let run: CommandRunner;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'meshctl-config-'));
    await mkdir(join(root, 'manifests'));
    await writeFile(join(root, 'pods.yaml'), POD);
    run = commandRunner({ create, 'proxy-config': proxyConfig }, root);
    await run('create', '-f', 'pods.yaml', '--orchconfig', 'manifests');
    server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://x');
      if (url.pathname === '/debug/syncz') response.end(JSON.stringify([{ proxy: NODE }]));
      else if (url.searchParams.get('proxyID') === NODE) response.end(JSON.stringify(DUMP));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.close();
    await rm(root, { recursive: true, force: true });
  });

  const sent = async (...args: readonly string[]): Promise<readonly string[]> =>
    (await run('proxy-config', ...args, '--source', 'discovery', '--address', at)).out.split('\n');

  it('prints what discovery sends, in the tables of the agent', async () => {
    expect(await sent('clusters', 'web.foo')).to.deep.equal([
      'NAME               TYPE     STATE    CHANGED',
      'outbound|80||api   EDS      active',
      'secret             STATIC   active',
      '',
    ]);
    expect(await sent('endpoints', 'web', '-n', 'foo')).to.deep.equal([
      'CLUSTER            ENDPOINT        HEALTH     WEIGHT   ZONE',
      'outbound|80||api   10.1.0.8:8080   draining   1',
      'outbound|80||api   10.1.0.9:8080   healthy    1',
      '',
    ]);
    expect(await sent('listeners', 'web.foo')).to.deep.equal([
      'NAME      ADDRESS         STATE    FILTER CHAINS   CHANGED',
      'inbound   0.0.0.0:15006   active   2',
      '',
    ]);
    expect((await sent('routes', 'web.foo'))[1]).to.equal('80            api:80         api, api.foo + 1 more   1        active');
    expect((await sent('all', 'web.foo')).filter((line) => /^[A-Z]+$/.test(line))).to.deep.equal([
      'CLUSTERS',
      'ENDPOINTS',
      'LISTENERS',
      'ROUTES',
    ]);
  });

  it('prints names as the proxy writes them, and no private key', async () => {
    const text = (await sent('clusters', 'web.foo', '-o', 'json')).join('\n');
    const [cluster] = JSON.parse(text).configs[0].dynamic_active_clusters;
    expect(cluster).to.deep.equal({
      version_info: 'v1',
      cluster: {
        name: 'outbound|80||api',
        type: 'EDS',
        load_assignment: { cluster_name: 'x' },
        metadata: { filter_metadata: { 'io.mesh': {} } },
      },
    });
    expect(text).not.to.include('hush');
  });

  it('says whose words these are', async () => {
    const { err } = await run('proxy-config', 'clusters', 'web.foo', '--address', at);
    expect(err).to.equal(
      'warning: the proxy itself cannot be asked: neither --orchconfig nor MESH_ORCHCONFIG is given\n' +
        `warning: this is what ${at} sends to web-6d9f5bcb4d-x2vnk.foo; meshctl proxy-status tells whether it was taken\n`,
    );
  });

  it('says so where only the proxy knows', async () => {
    const { code, err } = await run('proxy-config', 'secrets', 'web.foo', '--address', at, '--orchconfig', 'manifests');
    expect([code, err]).to.deep.equal([
      1,
      'error: only the proxy itself knows its secrets, and it cannot be asked: no lab runs on manifests\n',
    ]);
  });

  it('says which pods there are, and which have no proxy', async () => {
    const failure = async (...args: readonly string[]): Promise<string> => (await run('proxy-config', 'clusters', ...args)).err;
    expect(await failure('wep.foo', '--orchconfig', 'manifests')).to.equal(
      'error: namespace foo has no pod wep; it has bare, web-6d9f5bcb4d-x2vnk\n',
    );
    expect(await failure('bare.foo', '--orchconfig', 'manifests')).to.equal(
      'error: pod bare.foo has no sidecar, so there is no proxy to ask\n',
    );
    expect(await failure('api.foo', '--address', at, '--source', 'discovery')).to.equal(
      'error: no proxy of api.foo is connected to pilot-discovery\n',
    );
    expect((await run('proxy-config', 'cluster', 'web.foo')).code).to.equal(2);
  });
});
