/** The webhook of pilot-discovery: sees what is delivered, may change it, and cannot hold it up. */
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import {
  DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  DiscoveryResponse,
} from '#gen/envoy/service/discovery/v3/discovery.ts';
import { type DeltaClient, deltaClient } from '../harness/ads-client.ts';
import { OWN_NODE, pod, policy, service, slice } from '../harness/discovery-manifests.ts';
import { DiscoveryProcess } from '../harness/discovery-process.ts';
import { manifest } from '../harness/manifest.ts';
import { eventually } from '../harness/sidecar.ts';
import { answerJson, TestWebhook, type WebhookCall } from '../harness/test-webhook.ts';

const CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';
const NAME = 'outbound|8000||httpbin.foo.svc.cluster.local';

describe('the webhook of pilot-discovery', function () {
  this.timeout(120_000);
  let dir: string;
  let discovery: DiscoveryProcess;
  let webhook: TestWebhook;
  const clients: DeltaClient[] = [];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-discovery-'));
    manifest(dir, 'mesh.yaml', service(), slice(), pod());
    webhook = new TestWebhook();
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await discovery.stop();
    await webhook.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const start = async (answer?: TestWebhook['answer'], socket?: string) => {
    if (answer !== undefined) webhook.answer = answer;
    await webhook.listen(socket === undefined ? undefined : { path: socket });
    const webhookEndpoint = socket === undefined ? webhook.endpoint : `unix://${socket}`;
    discovery = await DiscoveryProcess.start({ orchconfig: dir, webhookEndpoint });
  };
  const subscribe = (typeUrl: string): DeltaClient => {
    const client = deltaClient(discovery.ports.grpc);
    clients.push(client);
    client.send(DeltaDiscoveryRequest.fromPartial({ node: OWN_NODE, typeUrl }));
    return client;
  };
  const timeoutOf = (response: DeltaDiscoveryResponse): number | undefined => {
    const found = response.resources.find(({ name }) => name === NAME)?.resource?.value;
    return found === undefined ? undefined : Cluster.decode(found).connectTimeout?.seconds;
  };
  const clustersOf = async (client = subscribe(CLUSTER)) => timeoutOf(await client.next());
  const counted = async (result: string): Promise<number> =>
    Number(new RegExp(`pilot_webhook_calls_total\\{result="${result}"\\} (\\d+)`).exec(await discovery.metrics())?.[1] ?? 0);
  const patient = ({ typeUrl, resources }: WebhookCall, response: ServerResponse): void => {
    const changed = resources.map((one) => (one['name'] === NAME ? { ...one, connectTimeout: '7s' } : one));
    answerJson(response, { typeUrl, resources: changed });
  };

  it('changes what streams and polling proxies get, for one call whatever the number of proxies', async () => {
    await start(patient);
    expect(await Promise.all([clustersOf(), clustersOf(), clustersOf()])).to.deep.equal([7, 7, 7]);
    expect(webhook.calls.map(({ node, typeUrl }) => [node, typeUrl])).to.deep.equal([[OWN_NODE.id, CLUSTER]]);
    const polled = await fetch(`http://127.0.0.1:${discovery.ports.http}/v3/discovery:clusters`, {
      method: 'POST',
      body: JSON.stringify({ node: OWN_NODE }),
      headers: { 'content-type': 'application/json' },
    });
    expect(await polled.text()).to.include('"connectTimeout":"7s"');
    const dump = await (await discovery.page('/debug/config_dump?proxyID=httpbin-1.foo')).text();
    expect(dump).to.include('"connectTimeout": "7s"');
    expect(await counted('replaced')).to.equal(1);
  });

  it('leaves what it answers with 204, and is asked again only for what changed', async () => {
    await start();
    const client = subscribe(LISTENER);
    const first = await client.next();
    client.send(DeltaDiscoveryRequest.fromPartial({ typeUrl: LISTENER, responseNonce: first.nonce }));
    manifest(dir, 'policy.yaml', policy('strict'));
    expect((await client.next()).resources.map(({ name }) => name)).to.deep.equal(['virtualInbound']);
    manifest(dir, 'policy.yaml', policy('renamed'));
    await eventually('the next snapshot', async () =>
      (await (await discovery.page('/debug/snapshotz')).text()).includes('Policy foo/renamed'),
    );
    expect([webhook.calls.length, await counted('unchanged')]).to.deep.equal([2, 2]);
  });

  it('may answer in protobuf, and take a resource away', async () => {
    await start((_call, response) => {
      const body = DiscoveryResponse.encode(DiscoveryResponse.fromPartial({ typeUrl: CLUSTER })).finish();
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(body);
    });
    expect((await subscribe(CLUSTER).next()).resources).to.deep.equal([]);
  });

  it('listens on a Unix socket', async () => {
    await start(patient, join(dir, 'webhook.sock'));
    expect(await clustersOf()).to.equal(7);
  });

  const broken: readonly (readonly [string, TestWebhook['answer'], result: string, said: string])[] = [
    ['an error', (_call, response) => response.writeHead(500).end(), 'invalid', 'status 500'],
    ['garbage', (_call, response) => answerJson(response, 'x'), 'invalid', 'no list of resources'],
    ['nothing', (_call, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(), 'invalid', 'JSON'],
    [
      'another format',
      (_call, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('x'),
      'invalid',
      'text/plain',
    ],
    [
      'an unknown field',
      (call, response) => answerJson(response, { resources: [{ ...call.resources[0], bad: 1 }] }),
      'invalid',
      'bad',
    ],
    [
      'another type',
      (_call, response) => answerJson(response, { resources: [{ '@type': LISTENER, name: 'a' }] }),
      'invalid',
      LISTENER,
    ],
    ['a resource twice', ({ resources: [one] }, response) => answerJson(response, { resources: [one, one] }), 'invalid', 'twice'],
    ['a broken connection', (_call, response) => response.destroy(), 'failed', 'socket hang up'],
    ['silence', () => {}, 'timed_out', 'no answer within'],
  ];
  for (const [what, answer, result, said] of broken) {
    it(`changes nothing by ${what}, which is counted and logged`, async () => {
      await start(answer);
      expect(await clustersOf()).to.equal(1);
      expect(await counted(result)).to.equal(1);
      expect(discovery.log).to.include('webhook failed').and.include(said);
    });
  }

  it('holds up only what waits for it', async () => {
    let release = (): void => {};
    await start(({ typeUrl }, response) => {
      if (typeUrl === CLUSTER) release = () => response.writeHead(204).end();
      else response.writeHead(204).end();
    });
    const waiting = subscribe(CLUSTER);
    await eventually('the webhook is asked', () => webhook.calls.length === 1 || undefined);
    expect((await subscribe(LISTENER).next()).resources).to.not.have.length(0);
    expect(waiting.waiting).to.equal(0);
    release();
    expect(await clustersOf(waiting)).to.equal(1);
  });

  it('is left alone for a while after it failed several times, so that it cannot delay every change', async () => {
    await start((_call, response) => response.writeHead(500).end());
    const client = subscribe(LISTENER);
    for (const port of [8001, 8002, 8003, 8004]) {
      const { nonce } = await client.next();
      client.send(DeltaDiscoveryRequest.fromPartial({ typeUrl: LISTENER, responseNonce: nonce }));
      manifest(dir, 'mesh.yaml', { ...service(), spec: { ...service().spec, ports: [{ name: 'http', port }] } }, pod());
    }
    await client.next();
    expect([webhook.calls.length, await counted('skipped')]).to.deep.equal([3, 2]);
  });

  for (const endpoint of ['ftp://host', 'host:80', 'http://', 'unix://relative', 'unix:///', 'http://u:p@host', 'unix:///%zz']) {
    it(`is refused at ${endpoint}, with what is right`, async () => {
      await start();
      const message = await DiscoveryProcess.start({ orchconfig: dir, webhookEndpoint: endpoint }).then(
        () => 'it started',
        ({ message, code }: Error & { code: string }) => `${code}: ${message}`,
      );
      expect(message).to.match(/^usage: flag --webhookEndpoint: .*http:\/\/host\[:port\].*unix:\/\/\//);
    });
  }
});
