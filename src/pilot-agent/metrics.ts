import { Counter, Gauge, Registry } from 'prom-client';

/** The agent's own figures, as `/metrics` of the status port prints them. */
export class AgentMetrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'mesh_agent_certificate_requests_total',
    help: 'Requests for a workload certificate, by result.',
    labelNames: ['result'] as const,
    registers: [this.#registry],
  });
  readonly #expiry = new Gauge({
    name: 'mesh_agent_certificate_expiry_timestamp_seconds',
    help: 'When the workload certificate expires; 0 as long as there is none.',
    registers: [this.#registry],
  });
  readonly #restarts = new Counter({
    name: 'mesh_agent_proxy_restarts_total',
    help: 'Restarts of the proxy after it ended by itself.',
    registers: [this.#registry],
  });
  readonly #scrapeFailures = new Counter({
    name: 'mesh_agent_scrape_failures_total',
    help: 'Sources of statistics that could not be read when the merged ones were asked for.',
    labelNames: ['source'] as const,
    registers: [this.#registry],
  });
  readonly #leftOut = new Counter({
    name: 'mesh_agent_scrape_left_out_total',
    help: "Lines left out of the merged statistics: broken ones of the application's, and samples that stand there already.",
    labelNames: ['reason'] as const,
    registers: [this.#registry],
  });

  certificateObtained(notAfter: Date): void {
    this.#requests.inc({ result: 'ok' });
    this.#expiry.set(notAfter.getTime() / 1000);
  }

  certificateFailed(): void {
    this.#requests.inc({ result: 'failed' });
  }

  proxyRestarted(): void {
    this.#restarts.inc();
  }

  scrapeFailed(source: 'proxy' | 'application'): void {
    this.#scrapeFailures.inc({ source });
  }

  samplesLeftOut({ brokenLines, collisions }: { readonly brokenLines: number; readonly collisions: number }): void {
    this.#leftOut.inc({ reason: 'broken' }, brokenLines);
    this.#leftOut.inc({ reason: 'collision' }, collisions);
  }

  /** In the Prometheus text format. */
  print(): Promise<string> {
    return this.#registry.metrics();
  }
}
