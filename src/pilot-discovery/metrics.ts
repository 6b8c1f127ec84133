import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { DeliveryEvent } from '../delivery/ports.ts';
import type { CacheRead } from '../delivery/rest-cache.ts';
import type { RemoteState } from '../sources/registries/remote-cluster.ts';
import type { SnapshotCounts } from './counts.ts';
import { type MetricType, metricType } from './resource-types.ts';
import type { WebhookResult } from './webhook.ts';

export type ReviewResult = 'taken' | 'refused';

/** The metrics of pilot-discovery, under the names that dashboards know. */
export interface Metrics {
  observe(event: DeliveryEvent): void;
  /** Milliseconds from the first change of a snapshot until a proxy had acknowledged it. */
  converged(ms: number): void;
  /** A push that a proxy neither took nor refused. */
  pushTimedOut(): void;
  snapshot(counts: SnapshotCounts): void;
  /** The state of every remote cluster. */
  remoteClusters(states: readonly RemoteState[]): void;
  jwksFetched(success: boolean): void;
  cacheRead(read: CacheRead): void;
  webhookCalled(result: WebhookResult): void;
  /** A policy that the API server asked about. */
  policyReviewed(result: ReviewResult): void;
  /** The Prometheus text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

const REJECTS: Readonly<Record<MetricType, string>> = {
  cds: 'cluster',
  eds: 'endpoint',
  lds: 'listener',
  rds: 'route',
  vhds: 'virtual host',
};

export function createMetrics(version: string): Metrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const delivery = deliveryMetrics(register);
  const snapshot = snapshotGauges(register);
  const registers = [register];
  const fetches = {
    success: new Counter({ name: 'pilot_jwks_resolver_network_fetch_success_total', help: 'key sets fetched', registers }),
    fail: new Counter({
      name: 'pilot_jwks_resolver_network_fetch_fail_total',
      help: 'key sets that could not be fetched',
      registers,
    }),
  };
  const cacheReads = new Counter({
    name: 'pilot_discovery_cache_reads_total',
    help: 'answers of REST discovery looked up in the cache of --discovery_cache, by result',
    labelNames: ['result'],
    registers,
  });
  const reviews = new Counter({
    name: 'pilot_policy_reviews_total',
    help: 'policies that the API server asked the validating webhook about, by what it was told',
    labelNames: ['result'],
    registers,
  });
  const webhookCalls = new Counter({
    name: 'pilot_webhook_calls_total',
    help: 'sets of resources shown to the webhook of --webhookEndpoint, by what became of them',
    labelNames: ['result'],
    registers,
  });
  new Gauge({ name: 'pilot_info', help: 'build version', labelNames: ['version'], registers }).set({ version }, 1);
  return {
    ...delivery,
    snapshot,
    remoteClusters: remoteClusterGauge(register),
    policyReviewed: (result) => reviews.inc({ result }),
    jwksFetched: (success) => (success ? fetches.success : fetches.fail).inc(),
    cacheRead: (read) => cacheReads.inc({ result: read }),
    webhookCalled: (result) => webhookCalls.inc({ result }),
    text: () => register.metrics(),
    contentType: register.contentType,
  };
}

function deliveryMetrics(register: Registry): Pick<Metrics, 'observe' | 'converged' | 'pushTimedOut'> {
  const registers = [register];
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const connected = new Gauge({ name: 'pilot_xds', help: 'proxies connected to this discovery server', registers });
  const pushes = new Counter({
    name: 'pilot_xds_pushes',
    help: 'responses sent, by resource type',
    labelNames: ['type'],
    registers,
  });
  const rejects = new Map(
    Object.entries(REJECTS).map(([type, noun]): [string, Counter] => [
      type,
      counter(`pilot_xds_${type}_reject`, `${noun} configurations that proxies rejected`),
    ]),
  );
  const totalRejects = counter('pilot_total_xds_rejects', 'configurations that proxies rejected');
  const writeTimeouts = counter('pilot_xds_write_timeout', 'responses that a proxy did not take in time');
  const pushTimeouts = counter('pilot_xds_push_timeout', 'responses that a proxy neither acknowledged nor rejected in time');
  const convergence = new Histogram({
    name: 'pilot_proxy_convergence_time',
    help: 'seconds from a change of the configuration until a proxy had acknowledged it',
    buckets: [0.01, 0.1, 1, 3, 5, 10, 30],
    registers,
  });
  return {
    observe(event) {
      switch (event.type) {
        case 'connected':
          return connected.inc();
        case 'disconnected':
          return connected.dec();
        case 'sent':
          return pushes.inc({ type: metricType(event.typeUrl) ?? 'other' });
        case 'nacked':
          rejects.get(metricType(event.typeUrl) ?? '')?.inc();
          return totalRejects.inc();
        case 'timed_out':
          return writeTimeouts.inc();
        case 'acked':
        case 'current':
          return;
      }
    },
    converged: (ms) => convergence.observe(ms / 1_000),
    pushTimedOut: () => pushTimeouts.inc(),
  };
}

const REMOTE_STATES: readonly RemoteState[] = ['followed', 'lost', 'waiting'];

function remoteClusterGauge(register: Registry): Metrics['remoteClusters'] {
  const gauge = new Gauge({
    name: 'pilot_remote_clusters',
    help: 'clusters of --clusterRegistriesConfigMap: lost ones keep their last endpoints, waiting ones have not been read yet',
    labelNames: ['state'],
    registers: [register],
  });
  return (states) => {
    for (const state of REMOTE_STATES) gauge.set({ state }, states.filter((each) => each === state).length);
  };
}

function snapshotGauges(register: Registry): Metrics['snapshot'] {
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [register] });
  const services = gauge('pilot_services', 'services known');
  const virtualHosts = gauge('pilot_virt_services', 'HTTP ports of services, each a virtual host of a route table');
  const withoutEndpoints = gauge('pilot_eds_no_instances', 'services without a ready endpoint');
  const withoutAddress = gauge('pilot_no_ip', 'pods without an address');
  const policies = gauge(
    'pilot_conflict_policies',
    'problems of authentication policies, such as an older one at the same level',
  );
  const inbound = gauge('pilot_conflict_inbound_listener', 'workload ports that services take for HTTP and for raw TCP');
  const outbound = 'pilot_conflict_outbound_listener';
  const httpOverTcp = gauge(`${outbound}_http_over_current_tcp`, 'HTTP ports at the address and port of a raw TCP service');
  const tcpOverHttp = gauge(`${outbound}_tcp_over_current_http`, 'raw TCP ports at the address and port of an HTTP service');
  const tcpOverTcp = gauge(`${outbound}_tcp_over_current_tcp`, 'raw TCP ports at the address and port of another');
  return (counts) => {
    services.set(counts.services);
    virtualHosts.set(counts.virtualHosts);
    withoutEndpoints.set(counts.servicesWithoutEndpoints);
    withoutAddress.set(counts.workloadsWithoutAddress);
    policies.set(counts.policyProblems);
    inbound.set(counts.conflicts.inbound);
    httpOverTcp.set(counts.conflicts.outboundHttpOverTcp);
    tcpOverHttp.set(counts.conflicts.outboundTcpOverHttp);
    tcpOverTcp.set(counts.conflicts.outboundTcpOverTcp);
  };
}
