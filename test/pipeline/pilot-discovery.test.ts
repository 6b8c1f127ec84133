/** The whole of pilot-discovery in one process, from files to a discovery client on a real stream. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { DeltaDiscoveryRequest, type DeltaDiscoveryResponse } from '#gen/envoy/service/discovery/v3/discovery.ts';
import type { SnapshotSummary } from '../../src/pilot-discovery/summary.ts';
import { type DeltaClient, deltaClient } from '../harness/ads-client.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { freePort } from '../harness/free-port.ts';
import { manifest } from '../harness/manifest.ts';

const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';
const NODE = { id: 'sidecar~10.1.1.1~httpbin-1.foo~foo.svc.cluster.local', cluster: 'httpbin' };

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'httpbin', namespace: 'foo' },
  spec: { clusterIP: '10.96.0.1', selector: { app: 'httpbin' }, ports: [{ name: 'http', port: 8000 }] },
};
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'httpbin-1', namespace: 'foo', labels: { app: 'httpbin' }, annotations: { 'sidecar.mesh.io/status': '{}' } },
  spec: { containers: [{ name: 'httpbin', image: 'httpbin' }] },
  status: { phase: 'Running', podIP: '10.1.1.1', podIPs: [{ ip: '10.1.1.1' }] },
};
const strict = {
  apiVersion: 'authentication.mesh.io/v1alpha1',
  kind: 'Policy',
  metadata: { name: 'strict', namespace: 'foo' },
  spec: { peers: [{ mtls: {} }] },
};

/** Names of the filter chains of the inbound listener in a response. */
function inboundChains(response: DeltaDiscoveryResponse): readonly string[] {
  const inbound = response.resources.find((resource) => resource.name === 'virtualInbound');
  const listener = Listener.decode(inbound?.resource?.value ?? new Uint8Array());
  return listener.filterChains.map((chain) => chain.name);
}

describe('pilot-discovery', () => {
  let dir: string;
  let discovery: DiscoveryProcess;
  let client: DeltaClient;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    manifest(dir, 'mesh.yaml', service, pod);
    discovery = await DiscoveryProcess.start({ orchconfig: dir });
    client = subscribe(discovery.ports.grpc);
  });

  afterEach(async () => {
    client.close();
    await discovery.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  function subscribe(port: number): DeltaClient {
    const fresh = deltaClient(port);
    fresh.send(DeltaDiscoveryRequest.fromPartial({ node: NODE, typeUrl: LISTENER }));
    return fresh;
  }

  const json = async <T>(path: string): Promise<T> => (await (await discovery.page(path)).json()) as T;
  const proxies = () => json<readonly Readonly<Record<string, unknown>>[]>('/debug/syncz');

  const answer = (response: DeltaDiscoveryResponse, rejection?: string): void =>
    client.send(
      DeltaDiscoveryRequest.fromPartial({
        typeUrl: LISTENER,
        responseNonce: response.nonce,
        ...(rejection === undefined ? {} : { errorDetail: { code: 13, message: rejection } }),
      }),
    );

  it('turns a policy file into the listener of the workload it applies to', async () => {
    const first = await client.next();
    expect(inboundChains(first)).to.include('8000-plaintext');
    answer(first);
    manifest(dir, 'policy.yaml', strict);
    const second = await client.next();
    expect(inboundChains(second)).to.include('8000-mesh').and.not.include('8000-plaintext');
    expect(second.resources).to.have.length(1);
  });

  it('serves the same stream on the HTTP port', async () => {
    const other = subscribe(discovery.ports.http);
    expect(inboundChains(await other.next())).to.include('8000-mesh');
    other.close();
  });

  it('shows how far each proxy is, and what the snapshot was made from', async () => {
    answer(await client.next());
    manifest(dir, 'policy.yaml', strict);
    answer(await client.next());
    let [proxy] = await proxies();
    while (proxy?.['sequence'] !== 2) [proxy] = await proxies();
    expect(proxy).to.include({ proxy: NODE.id, listener_sent: proxy?.['listener_acked'] });
    const snapshot = await json<SnapshotSummary>('/debug/snapshotz');
    expect(snapshot.sequence).to.equal(2);
    expect(snapshot.objects).to.have.property('Policy foo/strict');
  });

  it('tells which policy a proxy rejected', async () => {
    answer(await client.next());
    manifest(dir, 'policy.yaml', strict);
    answer(await client.next(), 'Error adding/updating listener(s) virtualInbound: no');
    await discovery.logged('proxy rejected its configuration');
    expect(discovery.log).to.include('objects="Policy foo/strict"');
    const [proxy] = await proxies();
    expect(proxy?.['listener_rejected']).to.include('virtualInbound: no');
    expect(await discovery.metrics())
      .to.include('pilot_xds_lds_reject 1')
      .and.include('pilot_total_xds_rejects 1');
  });

  it('keeps the last good content of a file that breaks, and says so', async () => {
    answer(await client.next());
    manifest(dir, 'policy.yaml', strict);
    answer(await client.next());
    writeFileSync(
      join(dir, 'policy.yaml'),
      'apiVersion: authentication.mesh.io/v1alpha1\nkind: Policy\nmetadata: {name: strict, na',
    );
    await discovery.logged('manifest refused');
    const { objects, problems } = await json<SnapshotSummary>('/debug/snapshotz');
    expect(objects).to.have.property('Policy foo/strict');
    expect(problems.map((problem) => problem.file)).to.deep.equal([join(dir, 'policy.yaml')]);
  });

  it('dumps the configuration of one proxy', async () => {
    await client.next();
    const dump = await json<{ cluster: { resources: readonly { name: string }[] } }>('/debug/config_dump?proxyID=httpbin-1.foo');
    expect(dump.cluster.resources.map(({ name }) => name)).to.include('outbound|8000||httpbin.foo.svc.cluster.local');
    expect((await discovery.page('/debug/config_dump')).status).to.equal(400);
    expect((await discovery.page('/debug/config_dump?proxyID=nobody.foo')).status).to.equal(404);
  });

  it('ends streams and exits with 0 when it is stopped', async () => {
    await client.next();
    expect(await discovery.stop()).to.equal(0);
    expect((await client.ended).code).to.equal(14);
  });
});

describe('pilot-discovery at start', () => {
  const failure = async (options: Readonly<Record<string, unknown>>, ports?: DiscoveryProcess['ports']): Promise<string> =>
    DiscoveryProcess.start(options, ports).then(
      () => 'it started',
      (error: Error) => error.message,
    );

  it('names the address that is in use', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    const first = await DiscoveryProcess.start({ orchconfig: dir });
    const ports = { grpc: first.ports.grpc, http: await freePort(), monitoring: await freePort() };
    expect(await failure({ orchconfig: dir }, ports)).to.include(`127.0.0.1:${ports.grpc}: the address is in use`);
    await first.stop();
    rmSync(dir, { recursive: true });
  });

  it('names the flag when there is no store to read', async () => {
    expect(await failure({})).to.include('--orchconfig');
  });

  it('names file and reason of a bad mesh configuration', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    const meshConfig = join(dir, 'mesh-config');
    writeFileSync(meshConfig, 'authPolicy: MUTUAL\n');
    const message = await failure({ orchconfig: dir, meshConfig });
    expect(message).to.include(meshConfig).and.include('authPolicy');
    rmSync(dir, { recursive: true });
  });
});
