/** The pages that operators look at when configuration does not arrive. */
import type { ProxyNode, TypeUrl } from '../delivery/ports.ts';
import type { CacheStats } from '../delivery/rest-cache.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../io/http/types.ts';
import { MeshError } from '../lib/errors.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { authentication, configuration } from './debug-policy.ts';
import { connection, syncStatus } from './debug-proxies.ts';
import { endpointLines, endpointShards, endpoints, registry } from './debug-registry.ts';
import { json, jsonList, text } from './debug-response.ts';
import type { ConnectedProxy, Proxies } from './proxies.ts';
import { TYPE_URLS } from './resource-types.ts';
import type { PushStatus, SnapshotSummary } from './summary.ts';

export interface DebugSources {
  readonly proxies: Proxies;
  /** The one in force; undefined before the first. */
  readonly snapshot: () => Snapshot | undefined;
  readonly summary: () => SnapshotSummary;
  readonly pushStatus: () => PushStatus;
  /** The resources that a connected proxy gets, as JSON, by type. */
  readonly configDump: (proxy: ConnectedProxy) => unknown;
  /** The resources of one type that a node gets, as JSON. */
  readonly resources: (node: ProxyNode, typeUrl: TypeUrl) => Iterable<unknown>;
  /** Sends everything to every proxy again. */
  readonly push: () => void;
  /** Undefined when answers are not cached. */
  readonly cacheStats: () => CacheStats | undefined;
}

interface Page {
  readonly about: string;
  readonly answer: (request: HttpRequest) => HttpResponse;
}

/** What is the same for every proxy is shown as this one gets it. */
const NOBODY: ProxyNode = { id: 'sidecar~127.0.0.1~nobody.nowhere~nowhere', cluster: '', metadata: {}, userAgent: '' };

export function debugHandler(sources: DebugSources): HttpHandler {
  const { proxies } = sources;
  const snapshot = (): Snapshot => requireSnapshot(sources.snapshot());
  const pages: Readonly<Record<string, Page>> = {
    registryz: { about: 'services', answer: () => jsonList(registry(snapshot())) },
    endpointz: {
      about: 'endpoints by service; ?brief=1: a line each',
      answer: ({ query }) => (query.get('brief') === '1' ? text(endpointLines(snapshot())) : jsonList(endpoints(snapshot()))),
    },
    endpointShardz: { about: 'endpoints by service and by what says so', answer: () => jsonList(endpointShards(snapshot())) },
    configz: { about: 'mesh configuration and policies in force', answer: () => jsonList(configuration(snapshot())) },
    authenticationz: { about: 'what each port takes and its callers send', answer: () => jsonList(authentication(snapshot())) },
    adsz: {
      about: 'connected proxies; ?push=1: sends them everything again',
      answer: ({ query }) => (query.get('push') === '1' ? push(sources) : jsonList(proxies.list().map(connection))),
    },
    cdsz: { about: 'clusters', answer: () => jsonList(sources.resources(NOBODY, TYPE_URLS.cluster)) },
    edsz: { about: 'load assignments', answer: () => jsonList(sources.resources(NOBODY, TYPE_URLS.endpoint)) },
    syncz: { about: 'how far each proxy is', answer: () => jsonList(proxies.list().map(syncStatus)) },
    config_dump: {
      about: '?proxyID=<pod>.<namespace>: all that one proxy gets',
      answer: ({ query }) => configDump(sources, query.get('proxyID')),
    },
    push_status: { about: 'the last push: who has it, what was rejected', answer: () => json(sources.pushStatus()) },
    snapshotz: {
      about: 'what the configuration in force was made from, and its problems',
      answer: () => json(sources.summary()),
    },
    cache_stats: {
      about: 'use of --discovery_cache',
      answer: () => json(sources.cacheStats() ?? { cache: 'off; --discovery_cache turns it on' }),
    },
  };
  const index = Object.entries(pages).map(([name, { about }]) => `/debug/${name}  ${about}\n`);
  return (request) => {
    const name = request.path.slice('/debug/'.length);
    if (name === '') return text(index);
    const page = Object.hasOwn(pages, name) ? pages[name] : undefined;
    if (page === undefined) {
      throw new MeshError('not_found', `there is no page ${request.path.slice(0, 200)}; /debug lists those there are`);
    }
    return page.answer(request);
  };
}

function requireSnapshot(snapshot: Snapshot | undefined): Snapshot {
  if (snapshot === undefined) throw new MeshError('unavailable', 'the configuration has not been read yet; try again');
  return snapshot;
}

function push({ push, proxies }: DebugSources): HttpResponse {
  push();
  return text([`sending everything again to ${proxies.list().length} proxies\n`]);
}

function configDump(sources: DebugSources, proxyId: string | null): HttpResponse {
  if (proxyId === null || proxyId === '') {
    throw new MeshError(
      'invalid',
      'name the proxy: /debug/config_dump?proxyID=<pod>.<namespace>; /debug/syncz lists the connected ones',
    );
  }
  const [proxy] = sources.proxies.find(proxyId);
  if (proxy === undefined) {
    const shown = JSON.stringify(proxyId.slice(0, 200));
    throw new MeshError('not_found', `no proxy ${shown} is connected; /debug/syncz lists the connected ones`);
  }
  return json(sources.configDump(proxy));
}
