import { expect } from 'chai';
import type { HttpServer } from '../../../src/io/http/types.ts';
import { AgentMetrics } from '../../../src/pilot-agent/metrics.ts';
import type { Readiness } from '../../../src/pilot-agent/readiness.ts';
import { createStatusServer } from '../../../src/pilot-agent/status-server.ts';
import { type LogEntry, MemoryLogger } from '../../fakes/memory-logger.ts';

describe('status port', () => {
  let server: HttpServer;
  let readiness: Readiness;
  let quits: number;
  const logger = new MemoryLogger();
  const metrics = new AgentMetrics();

  const countQuit = (): void => {
    quits += 1;
  };

  beforeEach(async () => {
    quits = 0;
    readiness = { ready: true };
    server = createStatusServer({ readiness: async () => readiness, metrics: () => metrics.print(), quit: countQuit }, logger);
    await server.listen({ host: '127.0.0.1', port: 0 });
  });

  afterEach(() => server.close(0));

  const ask = async (method: string, path: string): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    return `${response.status} ${(await response.text()).trim()}`;
  };

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

  it('ends the sidecar by POST only', async () => {
    expect(await ask('GET', '/quitquitquit')).to.match(/^404/);
    expect(quits).to.equal(0);
    expect(await ask('POST', '/quitquitquit')).to.equal('200 ending');
    expect(quits).to.equal(1);
  });
});

const printed = ({ level, message }: LogEntry): string => `${level}: ${message}`;
