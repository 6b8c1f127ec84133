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

  /** In the Prometheus text format. */
  print(): Promise<string> {
    return this.#registry.metrics();
  }
}
