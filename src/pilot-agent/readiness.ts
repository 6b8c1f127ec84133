import { MeshError } from '../lib/errors.ts';
import { field, items } from '../proxy-dump/json-value.ts';
import type { Admin } from './admin.ts';

/** Whether the workload may get traffic, and if not, why. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

const STATE = 'server.state';
const CLUSTERS = 'cluster_manager.cds.update_success';
const LISTENERS = 'listener_manager.lds.update_success';
const WORKERS = 'listener_manager.workers_started';
const STATS_PATH = `/stats?format=json&filter=${encodeURIComponent(`^(${[STATE, CLUSTERS, LISTENERS, WORKERS].join('|').replaceAll('.', '\\.')})$`)}`;
/** https://www.envoyproxy.io/docs/envoy/latest/api-v3/admin/v3/server_info.proto */
const LIVE = 0;

/**
 * Ready: clusters and listeners were received, the proxy is live, and it listens where inbound connections are redirected to.
 * A proxy whose own configuration asks no discovery (it does not count updates then) is ready when it is live.
 */
export async function proxyReadiness(admin: Admin, inboundPort: number): Promise<Readiness> {
  try {
    const stats = readStats(await admin.get(STATS_PATH));
    if (stats.get(CLUSTERS) === 0) return notReady('no clusters were received from discovery yet');
    if (stats.get(LISTENERS) === 0) return notReady('no listeners were received from discovery yet');
    if (stats.get(STATE) !== LIVE || stats.get(WORKERS) !== 1) return notReady('the proxy is still initialising or draining');
    if (!stats.has(LISTENERS)) return { ready: true };
    const ports = readListenerPorts(await admin.get('/listeners?format=json'));
    if (!ports.includes(inboundPort)) return notReady(`the proxy does not listen on the inbound port ${inboundPort} yet`);
    return { ready: true };
  } catch (thrown) {
    return notReady(MeshError.from(thrown).message);
  }
}

const notReady = (reason: string): Readiness => ({ ready: false, reason });

/** Counters and gauges of `/stats?format=json`; histograms have no single value and are left out. */
export function readStats(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const stat of items(field(JSON.parse(text), 'stats'))) {
    const name = field(stat, 'name');
    const value = field(stat, 'value');
    if (typeof name === 'string' && typeof value === 'number') values.set(name, value);
  }
  return values;
}

function readListenerPorts(text: string): readonly number[] {
  return items(field(JSON.parse(text), 'listener_statuses')).flatMap((listener) => {
    const addresses = [field(listener, 'local_address'), ...items(field(listener, 'additional_local_addresses'))];
    return addresses
      .map((address) => field(field(address, 'socket_address'), 'port_value'))
      .filter((port) => typeof port === 'number');
  });
}
