/** REST discovery of the whole of pilot-discovery: what a polling client gets for what it sends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DiscoveryRequest, DiscoveryResponse } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { Any } from '#gen/google/protobuf/any.ts';
import { decodeResource } from '../../src/xds/decode.ts';
import { OWN_NODE, pod, policy, service, slice } from '../harness/discovery-manifests.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { manifest } from '../harness/manifest.ts';
import { eventually } from '../harness/sidecar.ts';

interface JsonResponse {
  readonly versionInfo: string;
  readonly typeUrl: string;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
}

const JSON_TYPE = 'application/json';

describe('REST discovery', () => {
  let dir: string;
  let discovery: DiscoveryProcess;

  const start = async (options: Readonly<Record<string, unknown>> = {}): Promise<DiscoveryProcess> => {
    discovery = await DiscoveryProcess.start({ orchconfig: dir, ...options });
    return discovery;
  };

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    manifest(dir, 'mesh.yaml', service(), slice(), pod());
  });

  afterEach(async () => {
    await discovery.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const post = (type: string, body: string | Uint8Array<ArrayBuffer>, contentType = JSON_TYPE): Promise<Response> =>
    fetch(`http://127.0.0.1:${discovery.ports.http}/v3/discovery:${type}`, {
      method: 'POST',
      body,
      headers: contentType === '' ? {} : { 'content-type': contentType },
    });
  const ask = (type: string, fields: object = {}) => post(type, JSON.stringify({ node: OWN_NODE, ...fields }));
  const answer = async (type: string, fields: object = {}) => (await (await ask(type, fields)).json()) as JsonResponse;
  const named = (response: JsonResponse, name: string) => response.resources.find((resource) => resource['name'] === name);

  it('gives clusters with their endpoints, listeners that poll for routes, routes, and endpoints by name', async () => {
    await start();
    const name = 'outbound|8000||httpbin.foo.svc.cluster.local';
    const cluster = JSON.stringify(named(await answer('clusters'), name));
    expect(cluster).to.include('"address":"10.1.1.1"').and.not.include('eds');
    const listener = JSON.stringify(named(await answer('listeners'), '0.0.0.0_8000'));
    expect(listener).to.include('"apiType":"REST"').and.include('"clusterNames":["xds-rest"]').and.not.include('"ads"');
    const routes = await answer('routes', { resource_names: ['8000'] });
    expect(JSON.stringify(routes.resources)).to.include('httpbin.foo.svc.cluster.local');
    const endpoints = await answer('endpoints', { resource_names: [name] });
    expect(endpoints.resources).to.have.length(1);
    expect((await answer('routes', { resource_names: ['4711'] })).resources).to.deep.equal([]);
  });

  it('answers in protobuf what it answers in JSON', async () => {
    await start();
    const request = DiscoveryRequest.fromPartial({ node: OWN_NODE });
    const response = await post('listeners', Buffer.from(DiscoveryRequest.encode(request).finish()), 'application/x-protobuf');
    expect(response.headers.get('content-type')).to.equal('application/x-protobuf');
    const { versionInfo, typeUrl, resources } = DiscoveryResponse.decode(new Uint8Array(await response.arrayBuffer()));
    const json = await answer('listeners');
    expect({ versionInfo, typeUrl }).to.deep.equal({ versionInfo: json.versionInfo, typeUrl: json.typeUrl });
    expect(resources.map((any) => decodeResource(Any.encode(any).finish()))).to.deep.equal(json.resources);
  });

  it('says 304 to a client that holds the version, until something changes', async () => {
    await start();
    const { versionInfo } = await answer('listeners');
    const held = { version_info: versionInfo };
    const unchanged = await ask('listeners', held);
    expect([unchanged.status, await unchanged.text()]).to.deep.equal([304, '']);
    manifest(dir, 'policy.yaml', policy('strict'));
    const changed = await eventually('the listener changes', async () => {
      const response = await ask('listeners', held);
      return response.status === 200 ? ((await response.json()) as JsonResponse) : undefined;
    });
    expect(changed.versionInfo).to.not.equal(versionInfo);
    expect((await ask('clusters', { version_info: (await answer('clusters')).versionInfo })).status).to.equal(304);
  });

  const refusals: readonly [string, () => Promise<Response>, number, string][] = [
    ['an unknown type', () => ask('secrets'), 404, '/v3/discovery:clusters'],
    ['a page that is not there', () => discovery.page('/v3/nothing'), 404, 'there is no page'],
    ['another method', () => discovery.page('/v3/discovery:clusters'), 405, 'POST'],
    ['no content type', () => post('clusters', new Uint8Array(0), ''), 415, 'application/json'],
    ['another content type', () => post('clusters', '{}', 'text/yaml'), 415, 'text/yaml'],
    ['a body that is not JSON', () => post('clusters', '{"node":'), 400, 'not valid JSON'],
    ['a body that is no object', () => post('clusters', '[]'), 400, 'not an object'],
    ['names that are no strings', () => ask('routes', { resource_names: [1] }), 400, 'resource_names'],
    ['a body that is not protobuf', () => post('clusters', 'garbage', 'application/x-protobuf'), 400, 'cannot be decoded'],
    ['no node', () => post('clusters', '{}'), 400, 'node id'],
    ['a node of another form', () => ask('clusters', { node: { id: 'nobody' } }), 400, 'nobody'],
    ['the type of another path', () => ask('clusters', { type_url: 'type.googleapis.com/x.Y' }), 400, 'x.Y'],
    [
      'more names than the limit',
      () => ask('routes', { resource_names: Array.from({ length: 60_000 }, (_, i) => `${i}`) }),
      413,
      '50000',
    ],
    ['a body over the limit', () => post('clusters', `{"node":"${'x'.repeat(2_000_000)}"}`), 413, 'over the limit'],
  ];
  for (const [what, request, status, text] of refusals) {
    it(`refuses ${what} with ${status}`, async () => {
      await start();
      const response = await request();
      expect([response.status, await response.text()]).to.satisfy(
        ([got, body]: [number, string]) => got === status && body.includes(text),
        `${response.status}`,
      );
    });
  }

  it('keeps answers under --discovery_cache, the same as without, and shows and counts its use', async () => {
    const bodies: string[][] = [];
    for (const cached of [false, true]) {
      await start({ discovery_cache: cached });
      const bodyOf = async (type: string): Promise<string> =>
        (await ask(type, { resource_names: type === 'routes' ? ['8000'] : [] })).text();
      bodies.push(await Promise.all(['clusters', 'clusters', 'listeners', 'routes', 'endpoints'].map(bodyOf)));
      if (!cached) await discovery.stop();
    }
    expect(bodies[1]).to.deep.equal(bodies[0]);
    const stats = (await (await discovery.page('/debug/cache_stats')).json()) as Readonly<Record<string, number>>;
    expect(stats).to.include({ hits: 1, misses: 4, answers: 4, bodies: 4, evictions: 0 });
    expect(await discovery.metrics())
      .to.include('pilot_discovery_cache_reads_total{result="hit"} 1')
      .and.include('pilot_discovery_cache_reads_total{result="miss"} 4');
    manifest(dir, 'third.yaml', service('third', '10.96.0.3'));
    await eventually('a change is in the answer', async () => (await (await ask('clusters')).text()).includes('third.foo'));
  });
});
