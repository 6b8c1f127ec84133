import type { Service } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { createClusterStage } from './cluster-stage.ts';
import { createEncoder } from './encoder.ts';
import { createEndpointStage } from './endpoint-stage.ts';
import { createInboundListenerStage } from './inbound-listener-stage.ts';
import { reportsOutbound } from './mixs.ts';
import { type Families, familiesOf, type ProxyIdentity, type ProxyNode, parseNode } from './node.ts';
import { createOutboundListenerStage } from './outbound-listener-stage.ts';
import { createOutboundPlanner } from './outbound-plan.ts';
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  type EncodedResource,
  LISTENER_TYPE,
  type ResourceSet,
  ROUTE_TYPE,
  type TypeUrl,
  VIRTUAL_HOST_TYPE,
} from './resource.ts';
import { createOpenRouteStage, createRouteStage } from './route-stage.ts';
import { createVirtualHostStage } from './virtual-host-stage.ts';

/** A service that is not, or not wholly, in the configuration. */
export interface TranslationProblem {
  readonly service: Service;
  readonly message: string;
}

/**
 * Turns snapshots into Envoy resources. It remembers what it made from which part of a snapshot: what did not change is
 * neither built nor serialised again, and is the same object as before. Proxies that get the same resources get the same set.
 */
export interface Translator {
  /** The set of one type for one proxy. Throws MeshError `invalid` for a node that is not a sidecar's. */
  resources(snapshot: Snapshot, node: ProxyNode, typeUrl: TypeUrl, grain: Grain): ResourceSet;
  /** Services that could not be translated as they were meant; all others were. */
  problems(snapshot: Snapshot): readonly TranslationProblem[];
}

/** `fine`: the virtual hosts of route tables are resources of their own; `coarse`: they are parts of the tables. */
export type Grain = 'coarse' | 'fine';

export interface TranslatorDeps {
  /** Content hash that makes versions; collision-free in practice. */
  readonly hash: (bytes: Uint8Array) => string;
}

export function createTranslator({ hash }: TranslatorDeps): Translator {
  const clusters = lastOf(createClusterStage(createEncoder(CLUSTER_TYPE, hash)));
  const endpoints = lastOf(createEndpointStage(createEncoder(ENDPOINT_TYPE, hash)));
  const plan = lastOf(createOutboundPlanner());
  const routes = createRouteStage(createEncoder(ROUTE_TYPE, hash));
  const openRoutes = createOpenRouteStage(createEncoder(ROUTE_TYPE, hash));
  const virtualHosts = createVirtualHostStage(createEncoder(VIRTUAL_HOST_TYPE, hash));
  const listenerEncoder = createEncoder(LISTENER_TYPE, hash);
  const outbound = createOutboundListenerStage(listenerEncoder);
  const inbound = createInboundListenerStage(listenerEncoder);
  const listenerSets = createListenerSets(listenerEncoder.set);
  const nothing = (typeUrl: TypeUrl): ResourceSet => createEncoder(typeUrl, hash).set([]);
  const noVirtualHosts = nothing(VIRTUAL_HOST_TYPE);
  const proxies = new WeakMap<ProxyNode, Proxy>();

  const proxyOf = (node: ProxyNode): Proxy => {
    const known = proxies.get(node);
    if (known !== undefined) return known;
    const identity = parseNode(node);
    const proxy = { ...identity, families: familiesOf(identity.addresses) };
    proxies.set(node, proxy);
    return proxy;
  };

  const listeners = (snapshot: Snapshot, proxy: Proxy): ResourceSet => {
    const services = snapshot.servicesByWorkload.get(proxy.workload) ?? [];
    const variant = { families: proxy.families, reports: reportsOutbound(snapshot.mesh, services) };
    const shared = outbound(snapshot.mesh, plan(snapshot), variant);
    const own = inbound(snapshot, snapshot.workloadsByKey.get(proxy.workload), proxy.families);
    return listenerSets(shared, own);
  };

  return {
    resources(snapshot, node, typeUrl, grain) {
      const proxy = proxyOf(node);
      switch (typeUrl) {
        case CLUSTER_TYPE:
          return clusters(snapshot);
        case ENDPOINT_TYPE:
          return endpoints(snapshot);
        case LISTENER_TYPE:
          return listeners(snapshot, proxy);
        case ROUTE_TYPE:
          if (grain === 'fine') return openRoutes(snapshot.mesh, plan(snapshot));
          return routes(snapshot, plan(snapshot), proxy.namespace);
        case VIRTUAL_HOST_TYPE:
          return grain === 'fine' ? virtualHosts(snapshot, plan(snapshot), proxy.namespace) : noVirtualHosts;
        default:
          return nothing(typeUrl);
      }
    },
    problems: (snapshot) => plan(snapshot).problems,
  };
}

interface Proxy extends ProxyIdentity {
  readonly families: Families;
}

/** Remembers the answer for the snapshot that was asked about last. */
function lastOf<T>(stage: (snapshot: Snapshot) => T): (snapshot: Snapshot) => T {
  let last: { readonly snapshot: Snapshot; readonly answer: T } | undefined;
  return (snapshot) => {
    if (last?.snapshot !== snapshot) last = { snapshot, answer: stage(snapshot) };
    return last.answer;
  };
}

interface ListenerSet {
  readonly shared: readonly EncodedResource[];
  readonly set: ResourceSet;
}

/** Joins the outbound listeners with an inbound one; proxies with the same inbound listener get the same set. */
function createListenerSets(
  join: (resources: readonly EncodedResource[], previous?: ResourceSet) => ResourceSet,
): (shared: readonly EncodedResource[], own: EncodedResource) => ResourceSet {
  const sets = new WeakMap<EncodedResource, ListenerSet>();
  return (shared, own) => {
    const known = sets.get(own);
    if (known?.shared === shared) return known.set;
    const set = join([...shared, own], known?.set);
    sets.set(own, { shared, set });
    return set;
  };
}
