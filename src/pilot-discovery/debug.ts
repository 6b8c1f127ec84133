/** The pages that operators look at when configuration does not arrive. */
import type { ProxyNode, TypeUrl } from '../delivery/ports.ts';
import type { CacheStats } from '../delivery/rest-cache.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../io/http/types.ts';
import { MeshError } from '../lib/errors.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { RemoteClusterStatus } from '../sources/registries/remote-clusters.ts';
import type { Access, DebugAccess } from './debug-access.ts';
import { authentication, configuration } from './debug-policy.ts';
import { connection, syncStatus } from './debug-proxies.ts';
import { endpointLines, endpointShards, endpoints, registry } from './debug-registry.ts';
import { json, jsonList, jsonText, text } from './debug-response.ts';
import type { ConnectedProxy, Proxies } from './proxies.ts';
import { TYPE_URLS } from './resource-types.ts';
import type { PushStatus, SnapshotSummary } from './summary.ts';

export interface DebugSources {
  readonly access: DebugAccess;
  readonly proxies: Proxies;
  /** The one in force; undefined before the first. */
  readonly snapshot: () => Snapshot | undefined;
  readonly summary: () => SnapshotSummary;
  readonly pushStatus: () => PushStatus;
  /** The resources that a connected proxy gets, by type: JSON, in pieces. */
  readonly configDump: (proxy: ConnectedProxy) => Iterable<string>;
  /** The resources of one type that a node gets, as JSON. */
  readonly resources: (node: ProxyNode, typeUrl: TypeUrl) => Iterable<unknown>;
  /** Sends everything to every proxy again. */
  readonly push: () => void;
  /** Undefined when answers are not cached. */
  readonly cacheStats: () => CacheStats | undefined;
  readonly remoteClusters: () => readonly RemoteClusterStatus[];
}

interface Page {
  readonly about: string;
  /** `proxies`: about one or several of them, so that a workload sees those that are its own. */
  readonly shows: 'mesh' | 'proxies';
  readonly answer: (request: HttpRequest, access: Access) => HttpResponse;
}

/** What is the same for every proxy is shown as this one gets it. */
const NOBODY: ProxyNode = { id: 'sidecar~127.0.0.1~nobody.nowhere~nowhere', cluster: '', metadata: {}, userAgent: '' };

export function debugHandler(sources: DebugSources): HttpHandler {
  const pages = { ...meshPages(sources), ...proxyPages(sources) };
  const index = Object.entries(pages).map(([name, { about }]) => `/debug/${name}  ${about}\n`);
  return (request) => {
    const access = sources.access(request);
    const name = request.path.slice('/debug/'.length);
    if (name === '') return text(index);
    const page = Object.hasOwn(pages, name) ? pages[name] : undefined;
    if (page === undefined) {
      throw new MeshError('not_found', `there is no page ${request.path.slice(0, 200)}; /debug lists those there are`);
    }
    if (access.type === 'own' && page.shows === 'mesh') throw forOperators(request.path);
    return page.answer(request, access);
  };
}

function meshPages(sources: DebugSources): Readonly<Record<string, Page>> {
  const snapshot = (): Snapshot => requireSnapshot(sources.snapshot());
  const page = (about: string, answer: Page['answer']): Page => ({ about, shows: 'mesh', answer });
  return {
    registryz: page('services', () => jsonList(registry(snapshot()))),
    endpointz: page('endpoints by service; ?brief=1: a line each', ({ query }) =>
      query.get('brief') === '1' ? text(endpointLines(snapshot())) : jsonList(endpoints(snapshot())),
    ),
    endpointShardz: page('endpoints by service and by what says so', () => jsonList(endpointShards(snapshot()))),
    clusterz: page('remote clusters, and whether they can be read', () => jsonList(sources.remoteClusters())),
    configz: page('mesh configuration and policies in force', () => jsonList(configuration(snapshot()))),
    authenticationz: page('what each port takes and its callers send', () => jsonList(authentication(snapshot()))),
    cdsz: page('clusters', () => jsonList(sources.resources(NOBODY, TYPE_URLS.cluster))),
    edsz: page('load assignments', () => jsonList(sources.resources(NOBODY, TYPE_URLS.endpoint))),
    push_status: page('the last push: who has it, what was rejected', () => json(sources.pushStatus())),
    snapshotz: page('what the configuration in force was made from, and its problems', () => json(sources.summary())),
    cache_stats: page('use of --discovery_cache', () =>
      json(sources.cacheStats() ?? { cache: 'off; --discovery_cache turns it on' }),
    ),
  };
}

function proxyPages(sources: DebugSources): Readonly<Record<string, Page>> {
  const page = (about: string, answer: Page['answer']): Page => ({ about, shows: 'proxies', answer });
  const list = (access: Access): readonly ConnectedProxy[] => seenBy(access, sources.proxies.list());
  return {
    adsz: page('connected proxies; ?push=1: sends them everything again', ({ query, path }, access) => {
      if (query.get('push') !== '1') return jsonList(list(access).map(connection));
      if (access.type === 'own') throw forOperators(`${path}?push=1`);
      return push(sources);
    }),
    syncz: page('how far each proxy is', (_request, access) => jsonList(list(access).map(syncStatus))),
    config_dump: page('?proxyID=<pod>.<namespace>: all that one proxy gets', ({ query }, access) =>
      configDump(sources, query.get('proxyID'), access),
    ),
  };
}

function seenBy(access: Access, proxies: readonly ConnectedProxy[]): readonly ConnectedProxy[] {
  return access.type === 'all' ? proxies : proxies.filter(({ node }) => access.sees(node));
}

const forOperators = (path: string): MeshError =>
  new MeshError(
    'permission_denied',
    `${path} is for identities of the control plane’s namespace; a workload reads /debug/syncz, /debug/adsz and /debug/config_dump, ` +
      'of its own proxy',
  );

function requireSnapshot(snapshot: Snapshot | undefined): Snapshot {
  if (snapshot === undefined) throw new MeshError('unavailable', 'the configuration has not been read yet; try again');
  return snapshot;
}

function push({ push, proxies }: DebugSources): HttpResponse {
  push();
  return text([`sending everything again to ${proxies.list().length} proxies\n`]);
}

function configDump(sources: DebugSources, proxyId: string | null, access: Access): HttpResponse {
  if (proxyId === null || proxyId === '') {
    throw new MeshError(
      'invalid',
      'name the proxy: /debug/config_dump?proxyID=<pod>.<namespace>; /debug/syncz lists the connected ones',
    );
  }
  const [proxy] = seenBy(access, sources.proxies.find(proxyId));
  if (proxy !== undefined) return jsonText(sources.configDump(proxy));
  const shown = JSON.stringify(proxyId.slice(0, 200));
  // Whether somebody else's is connected is no business of a workload's.
  if (access.type === 'own') throw new MeshError('permission_denied', `${shown} is no connected proxy of the identity that asks`);
  throw new MeshError('not_found', `no proxy ${shown} is connected; /debug/syncz lists the connected ones`);
}
