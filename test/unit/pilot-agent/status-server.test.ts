import { request } from 'node:http';
import { expect } from 'chai';
import type { HttpServer } from '../../../src/io/http/types.ts';
import { LogScopes } from '../../../src/io/log/scopes.ts';
import { AgentMetrics } from '../../../src/pilot-agent/metrics.ts';
import type { Readiness } from '../../../src/pilot-agent/readiness.ts';
import { createStatusServer, type StatusSource } from '../../../src/pilot-agent/status-server.ts';
import { type LogEntry, MemoryLogger } from '../../fakes/memory-logger.ts';

describe('status port', () => {
  let server: HttpServer;
  let readiness: Readiness;
  let quits: number;
  let scopes: LogScopes;
  const logger = new MemoryLogger();
  const metrics = new AgentMetrics();

  const countQuit = (): void => {
    quits += 1;
  };

  beforeEach(async () => {
    quits = 0;
    readiness = { ready: true };
    scopes = new LogScopes({ names: ['default'], output: new Map(), stack: new Map(), callers: new Set() });
    const source: StatusSource = {
      readiness: async () => readiness,
      metrics: () => metrics.print(),
      allMetrics: async () => 'merged 1\n',
      probe: (path) => {
        if (path === '/app-lifecycle/web/prestop') return Promise.resolve({ status: 'none', text: 'gone' });
        return path === '/app-health/web/readyz' ? Promise.resolve({ status: 418, text: 'a teapot' }) : undefined;
      },
      scopes,
      quit: countQuit,
    };
    server = createStatusServer(source, logger);
    await server.listen({ host: '127.0.0.1', port: 0 });
  });

  afterEach(() => server.close(0));

  const ask = async (method: string, path: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    return `${response.status} ${(await response.text()).trim()}`;
  };

  /** As what comes from outside through the proxy; the status. */
  const askFromOutside = (method: string, path: string) =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: server.port, method, path, localAddress: '127.0.0.6' };
      request(options, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });

  it('tells readiness with its reason, and logs only changes', async () => {
    expect(await ask('GET', '/healthz/ready')).to.equal('200 ready');
    readiness = { ready: false, reason: 'there is no certificate yet' };
    expect(await ask('GET', '/healthz/ready')).to.equal('503 there is no certificate yet');
    expect(await ask('GET', '/healthz/ready')).to.equal('503 there is no certificate yet');
    expect(logger.entries.map(printed)).to.deep.equal(['info: the proxy is ready', 'info: the proxy is not ready']);
  });

  it('is live as long as it answers', async () => {
    expect(await ask('GET', '/healthz/live')).to.equal('200 live');
  });

  it('prints its own figures', async () => {
    metrics.certificateObtained(new Date(7_000));
    metrics.certificateFailed();
    const text = await ask('GET', '/metrics');
    expect(text).to.contain('mesh_agent_certificate_requests_total{result="failed"} 1');
    expect(text).to.contain('mesh_agent_certificate_expiry_timestamp_seconds 7');
  });

  it('prints everything that is counted in the pod', async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}/stats/prometheus`);
    expect(response.headers.get('content-type')).to.equal('text/plain; version=0.0.4; charset=utf-8');
    expect(await response.text()).to.equal('merged 1\n');
  });

  it('serves the probes that there are, and no others', async () => {
    expect(await ask('GET', '/app-health/web/readyz')).to.equal('418 a teapot');
    expect(await ask('GET', '/app-health/web/livez')).to.match(/^404 there are \/healthz\/ready/);
    expect(await ask('POST', '/app-health/web/readyz')).to.match(/^404/);
  });

  it('breaks off the connection where the application does not answer a hook: any answer would be a success', async () => {
    const failure = await ask('GET', '/app-lifecycle/web/prestop').catch((error: Error) => error);
    expect(failure).to.be.an.instanceof(Error);
    expect(logger.entries.map((entry: LogEntry) => entry.message)).to.include("a lifecycle hook of the application's failed");
  });

  it('does not end the sidecar for whoever comes from outside through the proxy', async () => {
    expect(await askFromOutside('POST', '/quitquitquit')).to.equal(403);
    expect(quits).to.equal(0);
  });

  it('shows and changes the levels of its log for the pod alone', async () => {
    const change = { method: 'PUT', body: '{"outputLevel":"debug"}' };
    const response = await fetch(`http://127.0.0.1:${server.port}/scopez/default`, change);
    expect(await response.json()).to.include({ name: 'default', outputLevel: 'debug' });
    expect(await ask('GET', '/scopez')).to.contain('"outputLevel": "debug"');
    expect(await ask('GET', '/scopez/ads')).to.equal('404 there is no log scope "ads"; the only scope is default');
    expect(await askFromOutside('GET', '/scopez')).to.equal(403);
    expect(await askFromOutside('PUT', '/scopez/default')).to.equal(403);
  });

  it('ends the sidecar by POST only', async () => {
    expect(await ask('GET', '/quitquitquit')).to.match(/^404/);
    expect(quits).to.equal(0);
    expect(await ask('POST', '/quitquitquit')).to.equal('200 ending');
    expect(quits).to.equal(1);
  });
});

const printed = ({ level, message }: LogEntry): string => `${level}: ${message}`;
