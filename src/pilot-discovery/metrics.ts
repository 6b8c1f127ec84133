import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { DeliveryEvent } from '../delivery/ports.ts';
import type { CacheRead } from '../delivery/rest-cache.ts';
import { METRIC_NAMES, RESOURCE_TYPE_NAMES, type ResourceTypeName, resourceTypeName } from './resource-types.ts';

export interface SnapshotCounts {
  readonly services: number;
  readonly servicesWithoutEndpoints: number;
  readonly conflicts: number;
}

/** The metrics of pilot-discovery, under the names that dashboards know. */
export interface Metrics {
  observe(event: DeliveryEvent): void;
  /** Milliseconds from the first change of a snapshot until a proxy had acknowledged it. */
  converged(ms: number): void;
  snapshot(counts: SnapshotCounts): void;
  jwksFetched(success: boolean): void;
  cacheRead(read: CacheRead): void;
  /** The Prometheus text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

export function createMetrics(version: string): Metrics {
  const registers = [new Registry()];
  const [register] = registers as [Registry];
  collectDefaultMetrics({ register });
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });

  const connected = gauge('pilot_xds', 'proxies connected to this discovery server');
  const pushes = new Counter({
    name: 'pilot_xds_pushes',
    help: 'responses sent, by resource type',
    labelNames: ['type'],
    registers,
  });
  const rejects = new Map<ResourceTypeName, Counter>(
    RESOURCE_TYPE_NAMES.map((type) => [
      type,
      counter(`pilot_xds_${METRIC_NAMES[type]}_reject`, `${type} configurations that proxies rejected`),
    ]),
  );
  const totalRejects = counter('pilot_total_xds_rejects', 'configurations that proxies rejected');
  const writeTimeouts = counter('pilot_xds_write_timeout', 'responses that a proxy did not take in time');
  const services = gauge('pilot_services', 'services known');
  const withoutEndpoints = gauge('pilot_eds_no_instances', 'services without a ready endpoint');
  const conflicts = gauge('pilot_conflict_policies', 'authentication policies that an older one at the same level overrules');
  const fetches = {
    success: counter('pilot_jwks_resolver_network_fetch_success_total', 'key sets fetched'),
    fail: counter('pilot_jwks_resolver_network_fetch_fail_total', 'key sets that could not be fetched'),
  };
  const cacheReads = new Counter({
    name: 'pilot_discovery_cache_reads_total',
    help: 'answers of REST discovery looked up in the cache of --discovery_cache, by result',
    labelNames: ['result'],
    registers,
  });
  const convergence = new Histogram({
    name: 'pilot_proxy_convergence_time',
    help: 'seconds from a change of the configuration until a proxy had acknowledged it',
    buckets: [0.01, 0.1, 1, 3, 5, 10, 30],
    registers,
  });
  new Gauge({ name: 'pilot_info', help: 'build version', labelNames: ['version'], registers }).set({ version }, 1);

  return {
    observe(event) {
      switch (event.type) {
        case 'connected':
          return connected.inc();
        case 'disconnected':
          return connected.dec();
        case 'sent':
          return pushes.inc({ type: metricName(event.typeUrl) });
        case 'nacked': {
          const name = resourceTypeName(event.typeUrl);
          if (name !== undefined) rejects.get(name)?.inc();
          return totalRejects.inc();
        }
        case 'timed_out':
          return writeTimeouts.inc();
        case 'acked':
        case 'current':
          return;
      }
    },
    converged: (ms) => convergence.observe(ms / 1_000),
    snapshot(counts) {
      services.set(counts.services);
      withoutEndpoints.set(counts.servicesWithoutEndpoints);
      conflicts.set(counts.conflicts);
    },
    jwksFetched: (success) => (success ? fetches.success : fetches.fail).inc(),
    cacheRead: (read) => cacheReads.inc({ result: read }),
    text: () => register.metrics(),
    contentType: register.contentType,
  };
}

function metricName(typeUrl: string): string {
  const name = resourceTypeName(typeUrl);
  return name === undefined ? 'other' : METRIC_NAMES[name];
}
