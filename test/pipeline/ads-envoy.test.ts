import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { CLUSTER, ENDPOINT, LISTENER, ROUTE } from '../../src/delivery/types.ts';
import { resourceSet } from '../fakes/config-source.ts';
import { badCluster, edsCluster, endpoints, httpListener, routeTo } from '../harness/envoy-resources.ts';
import { freePort } from '../harness/free-port.ts';
import { get, PlainEnvoy } from '../harness/plain-envoy.ts';
import { AdsBench } from './ads-bench.ts';

const POLL_MS = 25;

/** Waits for a condition; the test's own time-out bounds it. */
async function until(met: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!(await met())) await delay(POLL_MS, undefined, { signal });
}

for (const mode of ['GRPC', 'DELTA_GRPC'] as const) {
  describe(`a real Envoy over ${mode === 'GRPC' ? 'state-of-the-world' : 'delta'} ADS`, function () {
    this.timeout(120_000);
    let bench: AdsBench;
    let envoy: PlainEnvoy;
    let upstreams: Server[];
    let upstreamPorts: number[];
    let port: number;
    let over: AbortController;

    const publishClusters = (...seconds: number[]) =>
      bench.source.publish(
        resourceSet(
          CLUSTER,
          seconds.map((s, i) => edsCluster(`svc-${i}`, s)),
        ),
      );
    const publishEndpoints = (...upstream: number[]) =>
      bench.source.publish(
        resourceSet(
          ENDPOINT,
          upstream.map((u, i) => endpoints(`svc-${i}`, upstreamPorts[u] ?? 0)),
        ),
      );
    const publishRoute = (cluster: string, mark: string) =>
      bench.source.publish(resourceSet(ROUTE, [routeTo('routes', cluster, mark)]));
    const answers = (path: string, text: string) => until(async () => (await get(port, path)) === text, over.signal);
    const activeWith = (seconds: number) =>
      until(async () => {
        const dump = await envoy.admin('/config_dump?resource=dynamic_active_clusters&name_regex=svc-0');
        return dump.includes(`"connect_timeout": "${seconds}s"`);
      }, over.signal);

    beforeEach(async () => {
      over = new AbortController();
      bench = new AdsBench();
      await bench.start();
      upstreams = ['one', 'two'].map((name) => createServer((_request, response) => response.end(name)).listen(0, '127.0.0.1'));
      await Promise.all(upstreams.map((upstream) => once(upstream, 'listening')));
      upstreamPorts = upstreams.map((upstream) => {
        const address = upstream.address();
        return typeof address === 'object' && address !== null ? address.port : 0;
      });
      port = await freePort();
      publishClusters(1);
      publishEndpoints(0);
      bench.source.publish(resourceSet(LISTENER, [httpListener('http', port, 'routes', 'a')]));
      publishRoute('svc-0', 'first');
      envoy = await PlainEnvoy.start(bench.port, mode);
      await answers('/', 'one');
    });

    afterEach(async () => {
      over.abort();
      await envoy.stop();
      await bench.close();
      for (const upstream of upstreams) {
        upstream.closeAllConnections();
        upstream.close();
      }
    });

    it('warms a changed cluster whose endpoints did not change, again and again', async () => {
      for (const seconds of [2, 3, 4]) {
        publishClusters(seconds);
        await activeWith(seconds);
        expect(await get(port, '/')).to.equal('one');
      }
    });

    it('moves endpoints, routes and listeners, and adds a cluster before the route to it', async () => {
      publishEndpoints(1);
      await answers('/', 'two');
      publishRoute('svc-0', 'second');
      await answers('/mark', 'second');
      bench.source.publish(resourceSet(LISTENER, [httpListener('http', port, 'routes', 'b')]));
      await until(
        async () => (await envoy.admin('/config_dump?resource=dynamic_listeners')).includes('"stat_prefix": "b"'),
        over.signal,
      );
      await answers('/mark', 'second');
      bench.source.publish(
        resourceSet(CLUSTER, [edsCluster('svc-0', 1), edsCluster('svc-1', 1)]),
        resourceSet(ENDPOINT, [endpoints('svc-0', upstreamPorts[1] ?? 0), endpoints('svc-1', upstreamPorts[0] ?? 0)]),
        resourceSet(ROUTE, [routeTo('routes', 'svc-1', 'third')]),
      );
      await answers('/mark', 'third');
      await answers('/', 'one');
      publishEndpoints(1, 1);
      await answers('/', 'two');
      // The endpoints of this one did not come along.
      publishRoute('svc-0', 'fourth');
      await answers('/mark', 'fourth');
      expect(await get(port, '/')).to.equal('two');
      expect(bench.count('nacked')).to.equal(0);
    });

    it('tells why it rejects, keeps what it has, and takes the repair', async () => {
      bench.source.publish(resourceSet(CLUSTER, [edsCluster('svc-0', 1), badCluster('broken')]));
      const event = await bench.event(({ type }) => type === 'nacked');
      expect(event).to.have.property('message').that.contains('broken');
      expect(await get(port, '/')).to.equal('one');
      publishClusters(5, 1);
      publishEndpoints(0, 0);
      await activeWith(5);
      expect(bench.count('nacked')).to.equal(1);
    });

    it('serves on while the control plane is away, and reconnects', async () => {
      const xdsPort = bench.port;
      await bench.server?.close(0);
      expect(await get(port, '/')).to.equal('one');
      bench.events.length = 0;
      await bench.start({}, xdsPort);
      await bench.event(({ type }) => type === 'connected');
      publishRoute('svc-0', 'after');
      await answers('/mark', 'after');
      const sent = new Set(bench.events.flatMap((event) => (event.type === 'sent' ? [event.typeUrl] : [])));
      expect([...sent].sort()).to.deep.equal(mode === 'DELTA_GRPC' ? [ROUTE] : [CLUSTER, ENDPOINT, LISTENER, ROUTE]);
      publishClusters(6);
      await activeWith(6);
    });
  });
}
