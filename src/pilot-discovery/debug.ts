/** The pages that operators look at when configuration does not arrive. */
import type { CacheStats } from '../delivery/rest-cache.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../io/http/types.ts';
import { MeshError, type Problem } from '../lib/errors.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { ConnectedProxy, Proxies } from './proxies.ts';
import { RESOURCE_TYPE_NAMES, TYPE_URLS } from './resource-types.ts';

export interface DebugSources {
  readonly proxies: Proxies;
  readonly snapshot: () => SnapshotSummary;
  /** The resources that a connected proxy gets, as JSON, by type. */
  readonly configDump: (proxy: ConnectedProxy) => unknown;
  /** Undefined when answers are not cached. */
  readonly cacheStats: () => CacheStats | undefined;
}

export interface SnapshotSummary {
  readonly sequence: number;
  /** `Kind namespace/name` -> resourceVersion of everything that decides about authentication. */
  readonly objects: Readonly<Record<string, string>>;
  /** The mesh configuration in force. */
  readonly mesh?: MeshConfig;
  readonly problems: readonly Problem[];
}

export function debugHandler(sources: DebugSources): HttpHandler {
  const pages: Readonly<Record<string, (request: HttpRequest) => HttpResponse>> = {
    '/debug/cache_stats': () => json(sources.cacheStats() ?? { cache: 'off; --discovery_cache turns it on' }),
    '/debug/syncz': () => json(sources.proxies.list().map(syncStatus)),
    '/debug/snapshotz': () => json(sources.snapshot()),
    '/debug/config_dump': (request) => configDump(sources, request.query.get('proxyID')),
  };
  return (request) => {
    const page = pages[request.path];
    if (page === undefined)
      throw new MeshError('not_found', `there is no page ${request.path}; there are ${Object.keys(pages).join(', ')}`);
    return page(request);
  };
}

function configDump(sources: DebugSources, proxyId: string | null): HttpResponse {
  if (proxyId === null || proxyId === '') {
    throw new MeshError(
      'invalid',
      'name the proxy: /debug/config_dump?proxyID=<pod>.<namespace>; /debug/syncz lists the connected ones',
    );
  }
  const [proxy] = sources.proxies.find(proxyId);
  if (proxy === undefined)
    throw new MeshError('not_found', `no proxy "${proxyId}" is connected; /debug/syncz lists the connected ones`);
  return json(sources.configDump(proxy));
}

function syncStatus(proxy: ConnectedProxy): Readonly<Record<string, unknown>> {
  const types = RESOURCE_TYPE_NAMES.flatMap((name): [string, string | undefined][] => {
    const status = proxy.types.get(TYPE_URLS[name]);
    return [
      [`${name}_sent`, status?.sent?.nonce],
      [`${name}_acked`, status?.acked?.nonce],
      [`${name}_rejected`, status?.rejected?.message],
    ];
  });
  return {
    proxy: proxy.node.id,
    proxy_version: String(proxy.node.metadata['MESH_VERSION'] ?? ''),
    connected_at: proxy.connectedAt.toISOString(),
    sequence: proxy.sequence,
    ...Object.fromEntries(types.filter(([, value]) => value !== undefined)),
  };
}

function json(value: unknown): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(value, undefined, 2)}\n` };
}
