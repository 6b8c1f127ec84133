import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import { AgentMetrics } from '../../../src/pilot-agent/metrics.ts';
import { createScraper } from '../../../src/pilot-agent/scrape.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

describe('scraping of the pod', () => {
  let application: Server;
  let answer: RequestListener;
  let proxy: () => Promise<string>;
  let logger: MemoryLogger;
  let scrape: () => Promise<string>;

  beforeEach(async () => {
    application = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
    await once(application, 'listening');
    const { port } = application.address() as AddressInfo;
    proxy = async () => '# TYPE envoy_up gauge\nenvoy_up 1\n';
    logger = new MemoryLogger();
    scrape = createScraper({
      admin: { get: () => proxy(), post: () => proxy() },
      application: { address: '127.0.0.1', scrape: { port, path: '/metrics?all=1' } },
      metrics: new AgentMetrics(),
      logger,
    });
  });
  afterEach(() => {
    application.closeAllConnections();
    application.close();
  });

  it('finds the proxy, the application and the agent', async () => {
    answer = (request, response) => {
      const isRight = request.url === '/metrics?all=1' && request.headers.accept?.startsWith('text/plain;version=0.0.4');
      response.setHeader('content-type', 'text/plain; version=0.0.4').end(isRight ? 'hits 3\n' : '');
    };
    const text = await scrape();
    expect(text).to.contain('envoy_up 1\n').and.to.contain('hits 3\n').and.to.contain('mesh_agent_proxy_restarts_total 0\n');
  });

  it('understands an application that answers OpenMetrics all the same', async () => {
    answer = (_, response) =>
      response
        .setHeader('content-type', 'application/openmetrics-text; version=1.0.0')
        .end('# TYPE hits counter\nhits_total 3\n# EOF\n');
    expect(await scrape())
      .to.contain('# TYPE hits_total counter\nhits_total 3\n')
      .and.not.to.contain('EOF');
  });

  for (const [what, listener] of [
    ['answers an error', (_, response) => response.writeHead(500).end('hits 3\n')],
    ['answers HTML', (_, response) => response.setHeader('content-type', 'text/html').end('<html>')],
    ['closes the connection', (request) => request.socket.destroy()],
  ] as [string, RequestListener][]) {
    it(`goes on without an application that ${what}, counts it, and says so once`, async () => {
      answer = listener;
      await scrape();
      const text = await scrape();
      expect(text).to.contain('envoy_up 1\n').and.to.contain('mesh_agent_scrape_failures_total{source="application"} 2');
      expect(text).not.to.contain('hits');
      expect(logger.entries.map((entry) => entry.message)).to.deep.equal(['statistics cannot be had']);
    });
  }

  it('goes on without the proxy', async () => {
    answer = (_, response) => response.end('hits 3\n');
    proxy = () => Promise.reject(new MeshError('unavailable', 'nobody there'));
    expect(await scrape())
      .to.contain('hits 3\n')
      .and.to.contain('mesh_agent_scrape_failures_total{source="proxy"} 1');
  });
});
