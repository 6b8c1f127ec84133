/** What operators see of pilot-discovery: the pages below /debug and the metrics, while real clients connect, take and reject. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DeltaDiscoveryRequest, type DeltaDiscoveryResponse } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { type DeltaClient, deltaClient } from '../harness/ads-client.ts';
import { OWN_NODE, pod, policy, service, slice } from '../harness/discovery-manifests.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { manifest } from '../harness/manifest.ts';
import { eventually } from '../harness/sidecar.ts';

const CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';
const ROUTE = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';
const ENDPOINT = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';
const HOST = 'httpbin.foo.svc.cluster.local';

type Row = Readonly<Record<string, unknown>>;

describe('pilot-discovery for operators', () => {
  let dir: string;
  let discovery: DiscoveryProcess;
  const clients: DeltaClient[] = [];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    manifest(dir, 'mesh.yaml', service(), slice('httpbin', ['10.1.1.1', '10.1.1.9']), pod());
    discovery = await DiscoveryProcess.start({ orchconfig: dir });
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await discovery.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const subscribe = (typeUrl: string): DeltaClient => {
    const client = deltaClient(discovery.ports.grpc);
    clients.push(client);
    client.send(DeltaDiscoveryRequest.fromPartial({ node: OWN_NODE, typeUrl }));
    return client;
  };
  const answer = (client: DeltaClient, { typeUrl, nonce }: DeltaDiscoveryResponse, rejection?: string): void => {
    const errorDetail = rejection === undefined ? {} : { errorDetail: { code: 13, message: rejection } };
    client.send(DeltaDiscoveryRequest.fromPartial({ typeUrl, responseNonce: nonce, ...errorDetail }));
  };
  const text = async (path: string): Promise<string> => (await discovery.page(path)).text();
  const rows = async (path: string): Promise<readonly Row[]> => JSON.parse(await text(path)) as readonly Row[];
  const object = async (path: string): Promise<Row> => JSON.parse(await text(path)) as Row;
  const metric = async (line: string): Promise<number> => {
    const found = (await discovery.metrics()).split('\n').find((candidate) => candidate.startsWith(`${line} `));
    return Number(found?.slice(line.length));
  };
  const becomes = (line: string, value: number) =>
    eventually(`${line} becomes ${value}`, async () => (await metric(line)) === value);

  it('lists its pages, each of which answers', async () => {
    const index = await text('/debug');
    const paths = index.split('\n').flatMap((line) => line.match(/^\/debug\/\S+/)?.[0] ?? []);
    expect(paths).to.include.members(
      'registryz configz endpointz endpointShardz adsz edsz cdsz syncz config_dump authenticationz push_status'
        .split(' ')
        .map((page) => `/debug/${page}`),
    );
    const statuses = await Promise.all(paths.map(async (path) => (await discovery.page(path)).status));
    expect(statuses.filter((status) => status !== 200)).to.deep.equal([400]);
    expect((await discovery.page('/debug/nothing')).status).to.equal(404);
    expect((await discovery.page('/debug/__proto__')).status).to.equal(404);
  });

  it('shows services and what is behind them', async () => {
    const [registered] = await rows('/debug/registryz');
    expect(registered).to.include({ hostname: HOST, registry: 'Kubernetes' });
    expect(registered?.['workloads']).to.deep.equal(['foo/httpbin-1']);
    const [{ endpoints } = {}] = await rows('/debug/endpointz');
    expect(endpoints).to.deep.include({
      address: '10.1.1.1',
      port: 8000,
      servicePort: 8000,
      ready: true,
      workload: 'foo/httpbin-1',
      serviceAccount: 'default',
      sidecar: true,
    });
    expect(await text('/debug/endpointz?brief=1')).to.equal(
      `${HOST}:8000 10.1.1.1:8000 foo/httpbin-1 ready\n${HOST}:8000 10.1.1.9:8000 - ready\n`,
    );
    const [{ shards } = {}] = await rows('/debug/endpointShardz');
    expect(Object.keys(shards as Row)).to.deep.equal(['Kubernetes/httpbin-1']);
  });

  it('shows clusters and load assignments', async () => {
    const clusters = (await rows('/debug/cdsz')).map(({ name }) => name);
    const assignments = (await rows('/debug/edsz')).map(({ clusterName }) => clusterName);
    expect([clusters.includes(`outbound|8000||${HOST}`), assignments]).to.deep.equal([true, [`outbound|8000||${HOST}`]]);
  });

  it('shows policies without their keys, and what they decide', async () => {
    const jwks = '{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"EC","crv":"P-256","x":"secret-x","y":"secret-y"}]}';
    manifest(dir, 'policy.yaml', policy('tokens', { peers: [{ mtls: {} }], origins: [{ jwt: { issuer: 'me', jwks } }] }));
    await eventually('the policy is there', async () => (await rows('/debug/configz')).length === 2);
    const row = { host: HOST, port: 8000, authentication_policy_name: 'Policy foo/tokens', destination_rule_name: '-' };
    expect(await rows('/debug/authenticationz')).to.deep.equal([
      { ...row, status: 'OK', server: 'mTLS', client: 'mTLS' },
      // The other endpoint is no pod of the mesh.
      { ...row, status: 'CONFLICT', server: 'HTTP', client: 'HTTP' },
    ]);
    answer(subscribe(LISTENER), await (clients[0] as DeltaClient).next());
    const pages = await Promise.all(
      ['configz', 'snapshotz', 'config_dump?proxyID=httpbin-1.foo'].map((page) => text(`/debug/${page}`)),
    );
    for (const page of pages) expect(page).to.not.match(/c2VjcmV0|secret-x|secret-y/);
  });

  it('shows connected proxies, and sends them everything again on demand', async () => {
    const client = subscribe(LISTENER);
    const first = await client.next();
    answer(client, first);
    await eventually('the proxy is current', async () => (await rows('/debug/adsz'))[0]?.['sequence'] === 1);
    const [connected] = await rows('/debug/adsz');
    expect(connected).to.include({ proxy: OWN_NODE.id, transport: 'grpc' });
    expect(await text('/debug/adsz?push=1')).to.include('to 1 proxies');
    const again = await client.next();
    expect(again.resources.map(({ name }) => name)).to.deep.equal(first.resources.map(({ name }) => name));
  });

  it('names on every page the fields that scripts read, before and after the acknowledgement', async () => {
    const client = subscribe(LISTENER);
    const response = await client.next();
    const [before] = await rows('/debug/syncz');
    expect(before).to.include({ listener_sent: response.nonce, listener_acked: '', cluster_sent: '', cluster_acked: '' });
    answer(client, response);
    const after = await eventually('it is acknowledged', async () =>
      (await rows('/debug/syncz')).find(({ listener_acked }) => listener_acked === response.nonce),
    );
    expect(after).to.include.keys('route_sent', 'route_acked', 'endpoint_sent', 'endpoint_acked', 'proxy_version');
  });

  it('shows a rejection with the object behind it and the proxies, until it is mended', async () => {
    const [one, two] = [subscribe(LISTENER), subscribe(LISTENER)];
    for (const client of [one, two]) answer(client, await client.next());
    manifest(dir, 'policy.yaml', policy('strict'));
    for (const client of [one, two]) answer(client, await client.next(), 'listener virtualInbound: no');
    const rejected = await eventually('the rejection is shown', async () => {
      const list = (await object('/debug/push_status'))['rejected'] as readonly Row[];
      return list.find(({ proxies }) => (proxies as readonly string[]).length === 2);
    });
    expect(rejected).to.deep.include({
      type: LISTENER,
      objects: ['Policy foo/strict'],
      message: 'listener virtualInbound: no',
      proxies: [OWN_NODE.id, OWN_NODE.id],
    });
    rmSync(join(dir, 'policy.yaml'));
    for (const client of [one, two]) answer(client, await client.next());
    await eventually('nothing is rejected', async () => ((await object('/debug/snapshotz'))['rejected'] as Row[]).length === 0);
  });

  it('tells services that share an address, in the summary and in metrics', async () => {
    const raw = { ...service('raw'), spec: { ...service().spec, ports: [{ name: 'tcp', port: 8000 }] } };
    manifest(dir, 'second.yaml', raw);
    const problem = await eventually('the problem is told', async () =>
      ((await object('/debug/snapshotz'))['problems'] as Row[]).find(({ path }) => path === 'Service raw.foo'),
    );
    expect(problem['message']).to.include('10.96.0.1');
    expect(await metric('pilot_conflict_outbound_listener_tcp_over_current_http')).to.equal(1);
  });

  it('counts proxies, pushes, rejections and convergence', async () => {
    const client = subscribe(LISTENER);
    answer(client, await client.next());
    await becomes('pilot_xds', 1);
    expect(await metric('pilot_xds_pushes{type="lds"}')).to.equal(1);
    await becomes('pilot_proxy_convergence_time_count', 1);
    expect(await metric('pilot_proxy_convergence_time_bucket{le="30"}')).to.equal(1);
    const buckets = [...(await discovery.metrics()).matchAll(/pilot_proxy_convergence_time_bucket\{le="([^"]+)"/g)];
    expect(buckets.map(([, le]) => le)).to.deep.equal(['0.01', '0.1', '1', '3', '5', '10', '30', '+Inf']);
    manifest(dir, 'policy.yaml', policy('strict'));
    answer(client, await client.next(), 'no');
    await becomes('pilot_xds_lds_reject', 1);
    const other = subscribe(CLUSTER);
    answer(other, await other.next(), 'no');
    await becomes('pilot_xds_cds_reject', 1);
    expect([await metric('pilot_xds_rds_reject'), await metric('pilot_xds_eds_reject')]).to.deep.equal([0, 0]);
    const routes = subscribe(ROUTE);
    answer(routes, await routes.next(), 'no');
    await becomes('pilot_xds_rds_reject', 1);
    const endpoints = subscribe(ENDPOINT);
    answer(endpoints, await endpoints.next(), 'no');
    await becomes('pilot_xds_eds_reject', 1);
    expect(await metric('pilot_total_xds_rejects')).to.equal(4);
    for (const each of clients.splice(0)) each.close();
    await becomes('pilot_xds', 0);
  });

  it('counts what the configuration is made of', async () => {
    const version = await (await fetch(`http://127.0.0.1:${discovery.ports.monitoring}/version`)).text();
    expect(version).to.not.equal('');
    expect(await discovery.metrics()).to.match(/^pilot_info\{version="[^"]+"\} 1$/m);
    expect(await metric('pilot_services')).to.equal(1);
    expect(await metric('pilot_virt_services')).to.equal(1);
    expect(await metric('pilot_eds_no_instances')).to.equal(0);
    expect(await metric('pilot_no_ip')).to.equal(0);
    const starting = { ...pod('late', ''), status: { phase: 'Pending' } };
    manifest(dir, 'late.yaml', service('late', '10.96.0.7'), starting, policy('a', {}), policy('b', {}));
    await becomes('pilot_services', 2);
    expect(await metric('pilot_eds_no_instances')).to.equal(1);
    expect(await metric('pilot_no_ip')).to.equal(1);
    expect(await metric('pilot_conflict_policies')).to.equal(1);
    const raw = {
      ...service('raw', '10.96.0.8'),
      spec: { ...service().spec, clusterIP: '10.96.0.8', ports: [{ name: 'tcp', port: 8000 }] },
    };
    manifest(dir, 'raw.yaml', raw);
    await becomes('pilot_conflict_inbound_listener', 1);
  });

  it('counts key sets that come and that do not', async () => {
    manifest(dir, 'policy.yaml', policy('tokens', { origins: [{ jwt: { issuer: 'me', jwksUri: 'http://127.0.0.1:9/jwks' } }] }));
    await eventually('a fetch failed', async () => (await metric('pilot_jwks_resolver_network_fetch_fail_total')) > 0);
    expect(await metric('pilot_jwks_resolver_network_fetch_success_total')).to.equal(0);
  });
});
