import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { seconds } from '../../src/lib/duration.ts';
import { DEFAULT_MESH_CONFIG } from '../../src/model/mesh-config.ts';
import { buildCollectorCluster } from '../../src/xds/filters/tracing.ts';
import { Peer } from '../harness/peer.ts';
import { eventually, Sidecar } from '../harness/sidecar.ts';
import { mutualTlsListener } from '../harness/sidecar-resources.ts';

interface Span {
  readonly kind: string;
  readonly traceId: string;
  readonly localEndpoint: { readonly serviceName: string };
  readonly tags: Readonly<Record<string, string>>;
}

/** The endpoint of Zipkin that takes spans as JSON: https://zipkin.io/zipkin-api/#/default/post_spans */
class Zipkin {
  readonly spans: Span[] = [];
  readonly #server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const expected = request.method === 'POST' && request.url === '/api/v2/spans';
      if (expected) this.spans.push(...(JSON.parse(body) as Span[]));
      response.writeHead(expected ? 202 : 404).end();
    });
  });

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe('telemetry of a real proxy', function () {
  this.timeout(120_000);
  let sidecar: Sidecar;
  let udp: Socket;
  let zipkin: Zipkin;

  beforeEach(async () => {
    sidecar = await Sidecar.prepare();
    udp = createSocket('udp4');
    zipkin = new Zipkin();
  });
  afterEach(async () => {
    udp.close();
    zipkin.close();
    await sidecar.stop();
  });

  const call = async (): Promise<void> => {
    const peer = await Peer.create(sidecar, false);
    expect((await peer.get('/')).body).to.equal('ok');
    peer.close();
  };

  it('goes to a statsd listener: every counter that moved', async () => {
    const lines = new Set<string>();
    udp.on('message', (message) => {
      for (const line of message.toString().split('\n')) lines.add(line);
    });
    udp.bind(0, '127.0.0.1');
    await once(udp, 'listening');
    sidecar.start({ statsdUdpAddress: `127.0.0.1:${udp.address().port}` });
    await sidecar.ready();
    // Datagrams may be lost: all counters of the start come in one burst.
    await eventually('a request is counted', async () => {
      await call();
      return [...lines].some((line) => /^envoy\.cluster\.application\.upstream_rq_200:[1-9]\d*\|c$/.test(line)) || undefined;
    });
    await eventually('a gauge is told', () => [...lines].some((line) => /\|g$/.test(line)) || undefined);
  });

  /** What discovery gives every proxy of a mesh that traces. */
  const trace = (sampling = 100): void => {
    const mesh = { ...DEFAULT_MESH_CONFIG, enableTracing: true, traceSampling: sampling };
    const listener = mutualTlsListener('inbound', sidecar.ports.inbound, 'application', mesh);
    sidecar.discovery.clusters.push(buildCollectorCluster(mesh));
    sidecar.discovery.listeners.splice(0, 1, listener);
  };

  it('goes to a Zipkin collector: a span for each request', async () => {
    const port = await zipkin.listen();
    trace();
    sidecar.start({ collectorBAddress: `localhost:${port}`, serviceCluster: 'shop' });
    await sidecar.ready();
    await call();
    const span = await eventually('a span arrives', () => zipkin.spans.find(({ tags }) => tags['http.method'] === 'GET'));
    expect(span.localEndpoint.serviceName).to.equal('shop');
    expect(span.traceId).to.match(/^[0-9a-f]{32}$/);
    expect(span.tags).to.include({ 'http.status_code': '200', node_id: 'sidecar~127.0.0.1~web-1.foo~foo.svc.cluster.local' });
    expect(sidecar.output).to.not.match(/deprecated/i);
  });

  it('is as much as the mesh asks for', async () => {
    const port = await zipkin.listen();
    trace(0);
    sidecar.start({ collectorBAddress: `127.0.0.1:${port}` });
    await sidecar.ready();
    await call();
    const stats = async (name: string): Promise<string> =>
      (await fetch(`http://127.0.0.1:${sidecar.ports.admin}/stats?filter=${name}`)).text();
    expect(await stats('inbound.tracing.not_traceable')).to.match(/: 1$/m);
    expect(await stats('inbound.tracing.random_sampling')).to.match(/: 0$/m);
  });

  it('goes nowhere from a proxy that has no collector, which serves all the same', async () => {
    trace();
    sidecar.start();
    await sidecar.ready();
    await call();
  });

  it('does not hold the proxy up when nobody listens', async () => {
    trace();
    sidecar.start({ collectorBAddress: 'nowhere.invalid:9411', statsdUdpAddress: '127.0.0.1:9' });
    await sidecar.ready();
    await call();
  });

  it('of the node: locality, workers, log level and times are what the flags say', async () => {
    sidecar.start({
      availabilityZone: 'zone-a',
      concurrency: 2,
      proxyLogLevel: 'warn',
      connectTimeout: seconds(3),
      domain: 'foo.svc.example.com',
      id: 'other.foo',
      ip: '127.0.0.2',
    });
    await sidecar.ready();
    const info = await (await fetch(`http://127.0.0.1:${sidecar.ports.admin}/server_info`)).json();
    const { node, command_line_options: options } = info as {
      node: { id: string; locality: Readonly<Record<string, string>> };
      command_line_options: Readonly<Record<string, unknown>>;
    };
    expect(node.id).to.equal('sidecar~127.0.0.2~other.foo~foo.svc.example.com');
    expect(node.locality).to.include({ zone: 'zone-a' });
    expect(options).to.include({ concurrency: 2, log_level: 'warning' });
    const bootstrap = JSON.parse(await readFile(join(sidecar.folder, 'proxy', 'envoy-rev0.json'), 'utf8'));
    expect(bootstrap.static_resources.clusters[0].connect_timeout).to.equal('3s');
  });
});
