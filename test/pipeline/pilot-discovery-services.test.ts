/** The services of single types that pilot-discovery serves beside the aggregated one, and how all of them end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DeltaDiscoveryRequest, DiscoveryRequest, DiscoveryResponse } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { unaryCall } from '../../src/io/grpc/client.ts';
import { seconds } from '../../src/lib/duration.ts';
import { deltaClient, sotwClient } from '../harness/ads-client.ts';
import { OWN_NODE, pod, policy, service, slice } from '../harness/discovery-manifests.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { manifest } from '../harness/manifest.ts';
import { eventually } from '../harness/sidecar.ts';

const UNAVAILABLE = 14;
const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';

const SERVICES = [
  ['cluster', 'Cluster', 'Clusters', []],
  ['listener', 'Listener', 'Listeners', []],
  ['endpoint', 'Endpoint', 'Endpoints', ['outbound|8000||httpbin.foo.svc.cluster.local']],
  ['route', 'Route', 'Routes', ['8000']],
] as const;

describe('services of pilot-discovery', () => {
  let dir: string;
  let discovery: DiscoveryProcess;
  const closing: { close(): void }[] = [];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    manifest(dir, 'mesh.yaml', service(), slice(), pod());
    discovery = await DiscoveryProcess.start({ orchconfig: dir });
  });

  afterEach(async () => {
    for (const client of closing.splice(0)) client.close();
    await discovery.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const opened = <C extends { close(): void }>(client: C): C => {
    closing.push(client);
    return client;
  };
  const fetchOnce = (path: string, request: DiscoveryRequest): Promise<DiscoveryResponse> =>
    unaryCall({
      address: `127.0.0.1:${discovery.ports.grpc}`,
      path,
      request,
      requestCodec: DiscoveryRequest,
      responseCodec: DiscoveryResponse,
      deadline: seconds(5),
      signal: new AbortController().signal,
    });

  for (const [folder, noun, plural, names] of SERVICES) {
    it(`stream, delta and fetch ${plural.toLowerCase()}`, async () => {
      const base = `/envoy.service.${folder}.v3.${noun}DiscoveryService`;
      const { grpc } = discovery.ports;
      const stream = opened(sotwClient(grpc, `${base}/Stream${plural}`));
      stream.send(DiscoveryRequest.fromPartial({ node: OWN_NODE, resourceNames: [...names] }));
      const streamed = await stream.next();
      const delta = opened(deltaClient(grpc, `${base}/Delta${plural}`));
      delta.send(DeltaDiscoveryRequest.fromPartial({ node: OWN_NODE, resourceNamesSubscribe: [...names] }));
      const first = await delta.next();
      const fetched = await fetchOnce(
        `${base}/Fetch${plural}`,
        DiscoveryRequest.fromPartial({ node: OWN_NODE, resourceNames: [...names] }),
      );
      expect(streamed.resources).to.not.have.length(0);
      expect(fetched).to.deep.equal({ ...streamed, nonce: fetched.versionInfo });
      expect(first.resources.map(({ resource }) => resource)).to.deep.equal(streamed.resources);
    });
  }

  it('refuse a fetch without a node', async () => {
    const path = '/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters';
    const refused = await fetchOnce(path, DiscoveryRequest.fromPartial({})).catch((error: Error) => error.message);
    expect(refused).to.include('no node id');
  });

  it('end at once when the server stops, in the middle of a push too, and lose nothing', async () => {
    const aggregated = opened(deltaClient(discovery.ports.grpc));
    aggregated.send(DeltaDiscoveryRequest.fromPartial({ node: OWN_NODE, typeUrl: LISTENER }));
    const first = await aggregated.next();
    aggregated.send(DeltaDiscoveryRequest.fromPartial({ typeUrl: LISTENER, responseNonce: first.nonce }));
    const stalled = opened(sotwClient(discovery.ports.grpc));
    stalled.send(DiscoveryRequest.fromPartial({ node: OWN_NODE, typeUrl: LISTENER }));
    stalled.stall();
    manifest(dir, 'policy.yaml', policy('strict'));
    await eventually('a push is under way', () => (aggregated.waiting > 0 ? true : undefined));
    const stopped = discovery.stop();
    expect((await aggregated.ended).code).to.equal(UNAVAILABLE);
    // It was sent before the end, and is whole.
    expect((await aggregated.next()).resources.map(({ name }) => name)).to.deep.equal(['virtualInbound']);
    expect(await stopped).to.equal(0);
    discovery = await DiscoveryProcess.start({ orchconfig: dir });
    const again = opened(deltaClient(discovery.ports.grpc));
    again.send(
      DeltaDiscoveryRequest.fromPartial({
        node: OWN_NODE,
        typeUrl: LISTENER,
        initialResourceVersions: Object.fromEntries(first.resources.map(({ name, version }) => [name, version])),
      }),
    );
    expect((await again.next()).resources.map(({ name }) => name)).to.deep.equal(['virtualInbound']);
  });
});
