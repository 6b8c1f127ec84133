import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import { askAll } from './discovery/ask-all.ts';
import { withReplicas } from './discovery/open-replicas.ts';
import { type ProxySync, readSyncStatus } from './discovery/sync-status.ts';
import { findPod, parseTarget } from './find-pod.ts';
import type { proxyStatusFlags } from './proxy-status/flags.ts';
import { printProxies } from './proxy-status/report.ts';
import { warn } from './session.ts';

/** `meshctl proxy-status [PROXY]`: how far the proxies are, joined from all replicas of pilot-discovery. */
export function runProxyStatus({ options, args }: Invocation<typeof proxyStatusFlags>, host: Host): Promise<number> {
  const { orchconfig, address: addresses, meshNamespace: namespace, output } = options;
  return withReplicas({ orchconfig, addresses, namespace }, host, async (replicas) => {
    const answers = await askAll(replicas, '/debug/syncz', (message) => warn(host, message));
    const proxies = answers.flatMap(({ replica, page }) => readSyncStatus(page, replica.name)).toSorted(byName);
    const [wanted] = args;
    const shown = wanted === undefined ? proxies : ofProxy(proxies, wanted);
    host.stdout.write(printProxies(shown, output, host.now()));
    return 0;
  });
}

/** A proxy that changes its replica may be connected to both for a moment. */
function ofProxy(proxies: readonly ProxySync[], word: string): readonly ProxySync[] {
  const found = proxies.find(({ id }) => id === word) ?? findPod(proxies, parseTarget(word, ''));
  if (found !== undefined) return proxies.filter(({ id }) => id === found.id);
  const connected = proxies.map(({ name, namespace }) => `${name}.${namespace}`);
  throw new MeshError('not_found', `no proxy ${word} is connected to pilot-discovery${suggestion(word, connected)}`);
}

function byName(a: ProxySync, b: ProxySync): number {
  const [left, right] = [`${a.namespace} ${a.name} ${a.pilot}`, `${b.namespace} ${b.name} ${b.pilot}`];
  return left < right ? -1 : left > right ? 1 : 0;
}
